/* An autopilot in C, in a process of its own: drives north for eight metres, then stops.
 *
 *   cc -O2 -o external_autopilot external_autopilot.c
 *   pico-gz run --rovers 1 --autopilot external        # in another terminal
 *   ./external_autopilot [PORT]                        # 9002 is rover 1's port
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

struct servo_packet { uint16_t magic, rate_hz; uint32_t frame; uint16_t pulse_us[16]; };

/* The first number after a key, or 0. */
static double value(const char *record, const char *key) {
    const char *at = strstr(record, key);
    return at ? strtod(at + strlen(key) + strspn(at + strlen(key), " :["), NULL) : 0.0;
}

int main(int argc, char **argv) {
    int wire = socket(AF_INET, SOCK_DGRAM, 0);
    struct timeval second = {1, 0};
    setsockopt(wire, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    struct sockaddr_in simulator = {.sin_family = AF_INET};
    simulator.sin_port = htons(argc > 1 ? atoi(argv[1]) : 9002);
    simulator.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct servo_packet packet = {18458, 100, 0, {0}};
    for (int i = 0; i < 16; i++) packet.pulse_us[i] = 1500;
    char record[65536];
    for (;;) {
        sendto(wire, &packet, sizeof packet, 0, (void *)&simulator, sizeof simulator);
        ssize_t length = recv(wire, record, sizeof record - 1, 0);
        if (length <= 0) continue; /* no answer: send the same frame again */
        record[length] = 0;
        packet.frame++; /* one per record: each packet is one step of the simulation */
        double north_m = value(record, "\"position\""), speed_mps = value(record, "\"velocity\"");
        packet.pulse_us[0] = packet.pulse_us[1] = north_m < 8.0 ? 1700 : 1500;
        if (north_m >= 8.0 && speed_mps < 0.01 && speed_mps > -0.01) {
            printf("Stopped %.2f m north after %.1f s.\n", north_m, value(record, "\"timestamp\""));
            return 0;
        }
    }
}
