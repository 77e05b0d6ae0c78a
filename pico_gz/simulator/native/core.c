/* The Lightweight step and its sensors for a fleet, with the bits of the Python model.
 *
 * Every function here is the translation of one in pico_gz/simulator and has its name; the
 * Python code is the specification. Only + - * / sqrt floor and selection are used, in the same
 * order, and nothing may be contracted: build with -ffp-contract=off. The state of a vehicle is
 * one `rover_t`; its fields come from native_layout.py, by way of the generated layout.h.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "layout.h"

#define PI 3.141592653589793
#define TWO_PI (2.0 * PI)
#define HALF_PI (0.5 * PI)
#define QUARTER_PI (0.25 * PI)
#define DEG_PER_RAD (180.0 / PI)
#define RAD_PER_DEG (PI / 180.0)
#define US_PER_S 1000000
#define GRAVITY 9.80665
#define FAR_M 1e12
#define NEVER_US ((int64_t)1 << 62)

/* --- portable_math.py ---------------------------------------------------------------------- */

static const double SINE[7] = {-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0,
                               -1.0 / 39916800.0, 1.0 / 6227020800.0, -1.0 / 1307674368000.0};
static const double COSINE[8] = {-1.0 / 2.0, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40320.0,
                                 -1.0 / 3628800.0, 1.0 / 479001600.0, -1.0 / 87178291200.0,
                                 1.0 / 20922789888000.0};
static const double EXP[14] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                               1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                               1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 1.0 / 2.0, 1.0, 1.0};
static const double ATAN[12] = {-1.0 / 23.0, 1.0 / 21.0, -1.0 / 19.0, 1.0 / 17.0, -1.0 / 15.0,
                                1.0 / 13.0, -1.0 / 11.0, 1.0 / 9.0, -1.0 / 7.0, 1.0 / 5.0,
                                -1.0 / 3.0, 1.0};

static void sincos_small(double angle, double *sine, double *cosine) {
    double q = angle * angle;
    *sine = angle + angle * q * (SINE[0] + q * (SINE[1] + q * (SINE[2] + q * (SINE[3]
            + q * (SINE[4] + q * (SINE[5] + q * SINE[6]))))));
    *cosine = 1.0 + q * (COSINE[0] + q * (COSINE[1] + q * (COSINE[2] + q * (COSINE[3]
            + q * (COSINE[4] + q * (COSINE[5] + q * (COSINE[6] + q * COSINE[7])))))));
}

static void portable_sincos(double angle, double *sine, double *cosine) {
    double turns = floor(angle * (2.0 / PI) + 0.5), s, c;
    double rest = ((angle - turns * 0x1.921fb544p+0) - turns * 0x1.0b4611a6p-34)
                  - turns * 0x1.3198a2e037073p-69;
    int quadrant = (int)(turns - 4.0 * floor(turns * 0.25));
    sincos_small(rest, &s, &c);
    *sine = quadrant == 0 ? s : quadrant == 1 ? c : quadrant == 2 ? -s : -c;
    *cosine = quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s;
}

static double portable_atan2(double y, double x) {
    double ax = fabs(x), ay = fabs(y), t, q, series = ATAN[0], angle;
    int steep = ay > ax, upper;
    double small = steep ? ax : ay, large = steep ? ay : ax;
    t = large != 0.0 ? small / large : 0.0;
    upper = t > 0.41421356237309503;
    if (upper) t = (t - 1.0) / (t + 1.0);
    t = t / (1.0 + sqrt(1.0 + t * t));
    q = t * t;
    for (int k = 1; k < 12; k++) series = series * q + ATAN[k];
    angle = 2.0 * (t * series);
    if (upper) angle = QUARTER_PI + angle;
    if (steep) angle = HALF_PI - angle;
    if (x < 0.0) angle = PI - angle;
    return y < 0.0 ? -angle : angle;
}

static double portable_exp(double exponent) {
    if (exponent < -708.0) return 0.0;
    double x = exponent > 709.0 ? 709.0 : exponent;
    double k = floor(x * 0x1.71547652b82fep+0 + 0.5);
    double rest = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    double series = EXP[0], power;
    uint64_t bits = (uint64_t)((int64_t)k + 1023) << 52;
    for (int i = 1; i < 14; i++) series = series * rest + EXP[i];
    memcpy(&power, &bits, sizeof power);
    return series * power;
}

/* --- random.py, noise.py ------------------------------------------------------------------- */

static uint64_t mix(uint64_t value) {
    value ^= value >> 30;
    value *= 0xBF58476D1CE4E5B9u;
    value ^= value >> 27;
    value *= 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

static uint64_t bits_of(uint64_t key, uint64_t index) {
    return mix(key + (index + 1) * 0x9E3779B97F4A7C15u);
}

static double uniform(uint64_t key, uint64_t index) {
    return (double)(bits_of(key, index) >> 11) * 0x1p-53;
}

/* The next sample's draws of a stream. */
static void take(const world_t *w, uint64_t key, int64_t *count, int width, double *draws) {
    const double *starts = (const double *)(intptr_t)w->world_starts;
    const double *widths = (const double *)(intptr_t)w->world_widths;
    uint64_t first = (uint64_t)*count * (uint64_t)width;
    for (int k = 0; k < width; k++) {
        uint64_t drawn = bits_of(key, first + (uint64_t)k), cell = drawn >> 51;
        double place = (double)(drawn & (((uint64_t)1 << 51) - 1)) * 0x1p-51;
        draws[k] = starts[cell] + widths[cell] * place;
    }
    *count += 1;
}

static void gauss_markov(double interval_s, double tau_s, double *phi, double *gain) {
    *phi = portable_exp(-interval_s / tau_s);
    *gain = sqrt(1.0 - *phi * *phi);
}

static double low_pass_gain(double interval_s, double tau_s) {
    return 1.0 - portable_exp(-interval_s / tau_s);
}

static double saturate_and_quantise(double limit, double lsb, double value) {
    if (value > limit) value = limit;
    else if (value < -limit) value = -limit;
    return lsb != 0.0 ? floor(value / lsb + 0.5) * lsb + 0.0 : value + 0.0;
}

static double rounded(double value, double per_unit) {
    return floor(value * per_unit + 0.5) / per_unit + 0.0;
}

static double clipped(double value, double low, double high) {
    return value < low ? low : value > high ? high : value;
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
}

static int64_t aligned(int64_t last_us, int64_t period, int64_t lead) {
    return period ? (floor_div(last_us + lead, period) + 1) * period - lead : 0;
}

static void tick(int64_t now_us, int64_t period, int64_t lead, int64_t *next_us) {
    if (!period) return;
    *next_us += period;
    if (*next_us <= now_us) *next_us = aligned(now_us, period, lead);
}

/* --- what depends on the length of a step ---------------------------------------------------- */

static const double SINC[10] = {
    1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0, -1.0 / 39916800.0,
    1.0 / 6227020800.0, -1.0 / 1307674368000.0, 1.0 / 355687428096000.0,
    -1.0 / 121645100408832000.0};

static lag_t make_lag(double tau_s, double dt_s) {
    lag_t lag = {tau_s, 0.0, 0.0, 0.0, 0.0};
    if (isinf(tau_s)) {
        lag.left_end = lag.left_mean = 1.0;
        lag.push_end = dt_s;
        lag.push_mean = 0.5 * dt_s;
    } else if (tau_s > 0.0) {
        lag.left_end = portable_exp(-dt_s / tau_s);
        lag.push_end = tau_s * (1.0 - lag.left_end);
        lag.left_mean = lag.push_end / dt_s;
        lag.push_mean = tau_s * (1.0 - lag.left_mean);
    }
    return lag;
}

static int terms_needed(double largest_rad) {
    double square = largest_rad * largest_rad, power = square;
    for (int terms = 1; terms < 10; terms++) {
        if (power * fabs(SINC[terms]) <= 1e-19) return terms;
        power *= square;
    }
    return 10;
}

static double interval_s(int64_t period_us, int64_t dt_us) {
    return (double)(period_us > dt_us ? period_us : dt_us) / (double)US_PER_S;
}

static void prepare(rover_t *r, int64_t dt_us) {
    constants_t *k = &r->k;
    double dt_s = (double)dt_us / (double)US_PER_S, largest, gain, s;
    k->dt_us = dt_us;
    k->dt_s = dt_s;
    k->half_dt_s = 0.5 * dt_s;
    largest = r->rover_top_yaw_radps * k->half_dt_s;
    k->terms = largest <= 0.8 ? terms_needed(largest) : 1;
    k->most_rad = largest <= 0.8 ? largest * 1.000001 : -1.0;
    k->drive = make_lag(r->drive_lag_s, dt_s);
    k->coast = make_lag(r->drive_coast_s, dt_s);
    k->yaw = make_lag(r->drive_yaw_lag_s, dt_s);
    k->roll = dt_s / r->drive_wheel_radius_m;
    k->steer_step_rad = r->drive_steer_rate_degps * RAD_PER_DEG * dt_s;
    if (r->battery_has) k->battery_gain = low_pass_gain(dt_s, 1.0 / (TWO_PI * 10.0));
    if (r->imu_has) {
        s = interval_s(r->imu_period_us, dt_us);
        k->accel_var = r->imu_densities_sq[0] / s + r->imu_whites_sq[0];
        k->gyro_var = r->imu_densities_sq[1] / s + r->imu_whites_sq[1];
        k->per_s = 1.0 / s;
        s = 100000 / (double)US_PER_S > s ? 100000 / (double)US_PER_S : s;
        k->root_s = sqrt(s);
        k->warm_gain = low_pass_gain(s, 300.0);
    }
    if (r->gps_has) {
        s = interval_s(r->gps_period_us, dt_us);
        gauss_markov(s, r->gps_drift_tau_s, &k->gps_phi, &gain);
        for (int i = 0; i < 3; i++) k->gps_gains[i] = gain * r->gps_drift_sigma[i];
        gauss_markov(s, r->gps_vel_drift_tau_s, &k->gps_vel_phi, &gain);
        k->gps_vel_gain = gain * r->gps_vel_sigma;
    }
    if (r->barometer_has) {
        gauss_markov(interval_s(r->barometer_period_us, dt_us), r->barometer_drift_tau_s,
                     &k->baro_phi, &gain);
        k->baro_gain = gain * r->barometer_drift_sigma;
    }
}

/* --- drive_model.py, steering.py ------------------------------------------------------------- */

typedef struct { double end, mean; } speeds_t;

static speeds_t limited(const rover_t *r, double speed, double target, double tau_s,
                        const double *push_or_null, speeds_t v) {
    double difference = target - speed, push = 0.0, closing, rate;
    double limit = difference * speed < 0.0 ? r->drive_brake : r->drive_accel;
    double excess = fabs(difference) - limit * tau_s, dt_s = r->k.dt_s;
    if (excess <= 0.0) return v;
    rate = difference < 0.0 ? -limit : limit;
    closing = limit;
    if (push_or_null) {
        push = *push_or_null;
        closing = limit + (difference < 0.0 ? -push : push);
        rate = rate + push;
    }
    if (excess >= closing * dt_s) {
        double change = rate * dt_s;
        return (speeds_t){speed + change, speed + 0.5 * change};
    }
    double ramp_s = excess / closing, rest_s = dt_s - ramp_s, change = rate * ramp_s;
    double turned = speed + change, left = tau_s == 0.0 ? 0.0 : portable_exp(-rest_s / tau_s);
    double fade_s = tau_s * (1.0 - left), distance;
    v.end = target - (target - turned) * left + push * fade_s;
    distance = (speed + 0.5 * change) * ramp_s + target * rest_s - (target - turned) * fade_s;
    distance = distance + push * tau_s * (rest_s - fade_s);
    v.mean = distance / dt_s;
    return v;
}

static speeds_t standing(const rover_t *r, double speed, double target, const double *push,
                         speeds_t v) {
    int idle = target == 0.0, stopped;
    double drag = idle ? r->drive_resistance : 0.0, ahead, fall, share;
    if (speed < 0.0) drag = -drag;
    v.end = v.end - drag * r->k.coast.push_end;
    v.mean = v.mean - drag * r->k.coast.push_mean;
    ahead = idle ? speed : target;
    stopped = (v.end * ahead <= 0.0 && speed * ahead >= 0.0) || (idle && fabs(v.end) < 1e-9);
    if (!stopped || (push && fabs(*push) > r->drive_hold)) return v;
    fall = speed - v.end;
    share = fall == 0.0 ? 0.0 : speed / fall;
    return (speeds_t){0.0, 0.5 * speed * share};
}

static speeds_t speed_law(const rover_t *r, double speed, double target, const double *push) {
    double difference = target - speed;
    const lag_t *lag;
    speeds_t v;
    if (!push) {
        if (target == 0.0 && speed == 0.0 && r->drive_stands) return (speeds_t){0.0, 0.0};
        if (target != 0.0 && -r->drive_unlimited_mps <= difference
            && difference <= r->drive_unlimited_mps) {
            lag = &r->k.drive;
            return (speeds_t){target - difference * lag->left_end,
                              target - difference * lag->left_mean};
        }
    }
    lag = target == 0.0 ? &r->k.coast : &r->k.drive;
    v.end = target - difference * lag->left_end;
    v.mean = target - difference * lag->left_mean;
    if (push) {
        v.end = v.end + *push * lag->push_end;
        v.mean = v.mean + *push * lag->push_mean;
    }
    if (r->drive_limited && fabs(difference) > r->drive_gentle_mps)
        v = limited(r, speed, target, lag->tau_s, push, v);
    if (r->drive_stands && (target == 0.0 || push)) v = standing(r, speed, target, push, v);
    return v;
}

static double shaped(const rover_t *r, double command) {
    double size = fabs(command);
    if (r->drive_deadband > 0.0) {
        size = (size - r->drive_deadband) * r->drive_stretch;
        if (size <= 0.0) size = 0.0;
        else if (size > 1.0) size = 1.0;
    }
    if (r->drive_cubic > 0.0)
        size = size * r->drive_linear + r->drive_cubic * (size * size * size);
    return command < 0.0 ? -size : size;
}

static double within_grip(double yaw_radps, double speed_mps, double most_mps2) {
    double asked = fabs(yaw_radps * speed_mps);
    return asked > most_mps2 ? yaw_radps * (most_mps2 / asked) : yaw_radps;
}

static void skid_advance(const rover_t *r, const double *push, travel_t *t) {
    double first = r->rover_commands[0], second = r->rover_commands[1], full = r->drive_full_mps;
    double most = r->skid_difference_mps, mean, end, behind, load, target[2];
    speeds_t left, right;
    if (r->drive_battery_scaling) full = full * r->suite_battery_ratio;
    target[0] = shaped(r, first) * full;
    target[1] = shaped(r, second) * full;
    if (most > 0.0) {
        double difference = target[0] - target[1];
        if (fabs(difference) > most) {
            double half = 0.5 * (difference < 0.0 ? -most : most);
            double middle = 0.5 * (target[0] + target[1]);
            target[0] = middle + half;
            target[1] = middle - half;
        }
    }
    left = speed_law(r, r->pose_memory[0], target[0], push);
    right = speed_law(r, r->pose_memory[1], target[1], push);
    t->memory[0] = left.end;
    t->memory[1] = right.end;
    t->speed_mean = (left.mean + right.mean) * r->drive_forward;
    t->speed = (left.end + right.end) * r->drive_forward;
    if (r->skid_skid_turn_radps > 0.0) {
        mean = end = (first - second) * r->skid_skid_turn_radps;
    } else {
        mean = (left.mean - right.mean) * r->skid_turn;
        end = (left.end - right.end) * r->skid_turn;
    }
    if (r->skid_lags) {
        behind = mean - r->pose_yaw_radps;
        end = mean - behind * r->k.yaw.left_end;
        mean = mean - behind * r->k.yaw.left_mean;
    }
    most = r->skid_yaw_clamp_radps;
    if (most > 0.0) {
        end = clipped(end, -most, most);
        mean = clipped(mean, -most, most);
    }
    if (r->drive_grip_mps2 > 0.0) {
        mean = within_grip(mean, t->speed_mean, r->drive_grip_mps2);
        end = within_grip(end, t->speed, r->drive_grip_mps2);
    }
    t->yaw_mean = mean;
    t->yaw = end;
    t->turn_left = left.mean * r->k.roll;
    t->turn_right = right.mean * r->k.roll;
    load = fabs(target[0] - left.end) * r->drive_unload;
    t->load_left = load > 1.0 ? 1.0 : load;
    load = fabs(target[1] - right.end) * r->drive_unload;
    t->load_right = load > 1.0 ? 1.0 : load;
    t->throttle_abs = 0.5 * (fabs(first) + fabs(second));
}

static double ackermann_yaw(const rover_t *r, double speed, double steer) {
    double sine, cosine, yaw, most = r->ackermann_most_radps;
    if (r->ackermann_small) sincos_small(steer, &sine, &cosine);
    else portable_sincos(steer, &sine, &cosine);
    if (r->ackermann_turns_by_circle) {
        yaw = speed * sine / r->ackermann_sine_base_m;
    } else {
        double base = r->ackermann_wheel_base_m;
        if (r->ackermann_understeer_s2pm > 0.0)
            base = base + r->ackermann_understeer_s2pm * (speed * speed);
        yaw = speed * (sine / cosine) / base;
    }
    if (most > 0.0) yaw = clipped(yaw, -most, most);
    return r->drive_grip_mps2 > 0.0 ? within_grip(yaw, speed, r->drive_grip_mps2) : yaw;
}

static void ackermann_advance(const rover_t *r, const double *push, travel_t *t) {
    double throttle = r->rover_commands[0], full = r->drive_full_mps, target, load, spread;
    double steer, steer_mean, reach = r->k.steer_step_rad;
    speeds_t wheel;
    if (r->drive_battery_scaling) full = full * r->suite_battery_ratio;
    target = shaped(r, throttle) * full;
    wheel = speed_law(r, r->pose_memory[0], target, push);
    steer = steer_mean = r->rover_commands[1] * r->ackermann_max_steer_rad;
    if (reach != 0.0) {
        double move = steer - r->pose_memory[1];
        if (fabs(move) > reach) {
            move = move < 0.0 ? -reach : reach;
            steer = r->pose_memory[1] + move;
        }
        steer_mean = steer - 0.5 * move * (fabs(move) / reach);
    }
    t->memory[0] = wheel.end;
    t->memory[1] = steer;
    t->speed = wheel.end * r->drive_forward;
    t->speed_mean = wheel.mean * r->drive_forward;
    t->yaw = ackermann_yaw(r, t->speed, steer);
    t->yaw_mean = ackermann_yaw(r, t->speed_mean, steer_mean);
    spread = t->yaw_mean * r->ackermann_half_track_m;
    t->turn_left = (wheel.mean + spread) * r->k.roll;
    t->turn_right = (wheel.mean - spread) * r->k.roll;
    load = fabs(target - wheel.end) * r->drive_unload;
    t->load_left = t->load_right = load >= 1.0 ? 1.0 : load;
    t->throttle_abs = fabs(throttle);
}

static void drive(const rover_t *r, const double *push, travel_t *t) {
    if (r->skid_has) skid_advance(r, push, t);
    else ackermann_advance(r, push, t);
}

/* --- terrain.py ------------------------------------------------------------------------------ */

typedef struct { int64_t cell; double place; int inside; } place_t;

static place_t map_place(double at_m, double start_m, double cell_m, int64_t count) {
    double last = (double)(count - 1), asked = (at_m - start_m) / cell_m;
    double held = clipped(asked, 0.0, last);
    int64_t cell = (int64_t)floor(held);
    if (cell > count - 2) cell = count - 2;
    return (place_t){cell, held - (double)cell, asked >= 0.0 && asked <= last};
}

static const double *map_patch(const world_t *w, double north_m, double east_m, place_t *row,
                               place_t *column) {
    *row = map_place(north_m, w->world_map_north_m, w->world_cell_m, w->world_rows);
    *column = map_place(east_m, w->world_map_east_m, w->world_cell_m, w->world_columns);
    return (const double *)(intptr_t)w->world_heights + row->cell * w->world_columns + column->cell;
}

static double height_m(const world_t *w, double north_m, double east_m) {
    if (w->world_terrain == TERRAIN_RAMP) {
        double along = north_m * w->world_north + east_m * w->world_east;
        if (w->world_length_m > 0.0)
            along = clipped(along - w->world_start_m, 0.0, w->world_length_m);
        return along * w->world_rise;
    }
    place_t row, column;
    const double *south = map_patch(w, north_m, east_m, &row, &column);
    const double *north = south + w->world_columns;
    double low = south[0] + (south[1] - south[0]) * column.place;
    double high = north[0] + (north[1] - north[0]) * column.place;
    return low + (high - low) * row.place;
}

static void slope(const world_t *w, double north_m, double east_m, double *to_n, double *to_e) {
    if (w->world_terrain == TERRAIN_RAMP) {
        double rise = w->world_rise;
        if (w->world_length_m > 0.0) {
            double along = north_m * w->world_north + east_m * w->world_east - w->world_start_m;
            if (!(along >= 0.0 && along < w->world_length_m)) {
                *to_n = *to_e = 0.0;
                return;
            }
        }
        *to_n = rise * w->world_north;
        *to_e = rise * w->world_east;
        return;
    }
    place_t row, column;
    const double *south = map_patch(w, north_m, east_m, &row, &column);
    const double *north = south + w->world_columns;
    double sw = south[0], se = south[1], nw = north[0], ne = north[1];
    *to_n = row.inside ? ((nw - sw) + ((ne - se) - (nw - sw)) * column.place) / w->world_cell_m : 0.0;
    *to_e = column.inside ? ((se - sw) + ((ne - nw) - (se - sw)) * row.place) / w->world_cell_m : 0.0;
}

/* --- rover.py -------------------------------------------------------------------------------- */

typedef struct { double sinc, cos_mid, sin_mid, cos_end, sin_end; } arc_t;
typedef struct { double north, east, cos_end, sin_end; } track_t;

static arc_t turn(const rover_t *r, double yaw_mean) {
    double c = r->pose_cos_yaw, s = r->pose_sin_yaw, half = yaw_mean * r->k.half_dt_s;
    double sine, cosine, scale;
    arc_t a;
    if (-r->k.most_rad <= half && half <= r->k.most_rad) {
        double square = half * half;
        a.sinc = SINC[r->k.terms - 1];
        for (int64_t k = r->k.terms - 2; k >= 0; k--) a.sinc = a.sinc * square + SINC[k];
        sine = half * a.sinc;
        cosine = sqrt(1.0 - sine * sine);
    } else {
        portable_sincos(half, &sine, &cosine);
        a.sinc = fabs(half) < 1e-8 ? 1.0 : sine / half;
    }
    a.cos_mid = c * cosine - s * sine;
    a.sin_mid = s * cosine + c * sine;
    a.cos_end = a.cos_mid * cosine - a.sin_mid * sine;
    a.sin_end = a.sin_mid * cosine + a.cos_mid * sine;
    scale = 1.5 - 0.5 * (a.cos_end * a.cos_end + a.sin_end * a.sin_end);
    a.cos_end = a.cos_end * scale;
    a.sin_end = a.sin_end * scale;
    return a;
}

static track_t track(const world_t *w, const rover_t *r, const travel_t *t) {
    double yaw = t->yaw_mean, ahead, offset = r->rover_icr_offset_m;
    arc_t a;
    track_t found;
    if (w->world_terrain != TERRAIN_FLAT)
        yaw = yaw * (r->motion_r22 / (r->motion_r00 * r->motion_r00 + r->motion_r10 * r->motion_r10));
    a = turn(r, yaw);
    ahead = t->speed_mean * r->k.dt_s * a.sinc;
    if (w->world_terrain != TERRAIN_FLAT) {
        double to_n, to_e, rise;
        slope(w, r->pose_north_m, r->pose_east_m, &to_n, &to_e);
        rise = to_n * a.cos_mid + to_e * a.sin_mid;
        ahead = ahead / sqrt(1.0 + rise * rise);
    }
    found.north = ahead * a.cos_mid;
    found.east = ahead * a.sin_mid;
    if (offset != 0.0) {
        double aside = t->yaw_mean * -offset * r->k.dt_s * a.sinc;
        found.north = found.north - aside * a.sin_mid;
        found.east = found.east + aside * a.cos_mid;
    }
    found.cos_end = a.cos_end;
    found.sin_end = a.sin_end;
    return found;
}

/* Whether the air adds anything along the body's x axis, and what [m/s^2]. */
static int blown(const world_t *w, const rover_t *r, double *push) {
    double gain = r->rover_wind_gain, speed = r->pose_speed_mps, most = r->rover_max_speed;
    double relative, gain_dt, drag, deadband = r->rover_deadband;
    int still = fabs(r->rover_commands[0]) <= deadband
                && (r->rover_has_throttle || fabs(r->rover_commands[1]) <= deadband);
    if (gain == 0.0) return 0;
    if (!w->world_has_wind) {
        if (still ? speed == 0.0 : -most <= speed && speed <= most) return 0;
        relative = -speed;
    } else {
        relative = r->pose_cos_yaw * w->world_wind[0] + r->pose_sin_yaw * w->world_wind[1] - speed;
    }
    gain_dt = gain * r->k.dt_s;
    drag = relative * fabs(relative) / (1.0 + gain_dt * fabs(relative));
    if (!still) {
        double paid = clipped(speed, -most, most);
        drag = drag + paid * fabs(paid) / (1.0 + gain_dt * fabs(paid));
    }
    *push = drag * gain;
    return 1;
}

static void climb(const world_t *w, const rover_t *r, const double *air, travel_t *t) {
    double by_slope = r->motion_r20 * GRAVITY, push = air ? *air + by_slope : by_slope, before;
    drive(r, &push, t);
    if (!r->rover_pushable) return;
    before = height_m(w, r->pose_north_m, r->pose_east_m);
    for (int k = 0; k < 2; k++) {
        track_t way_to = track(w, r, t);
        double way = t->speed_mean * r->k.dt_s;
        push = by_slope;
        if (fabs(way) > 1e-6) {
            double after = height_m(w, r->pose_north_m + way_to.north, r->pose_east_m + way_to.east);
            push = (after - before) / way * -GRAVITY;
        }
        if (air) push = *air + push;
        drive(r, &push, t);
    }
}

static void move(double way, double *at, double *carry) {
    double before = *at, after;
    way = way - *carry;
    *at = after = before + way;
    *carry = (after - before) - way;
}

static void advance(const world_t *w, rover_t *r, int64_t dt_us) {
    travel_t *t = &r->k.travel;
    track_t to;
    double push;
    int is_blown;
    if (r->k.dt_us != dt_us) prepare(r, dt_us);
    r->rover_start_north_m = r->pose_north_m;
    r->rover_start_east_m = r->pose_east_m;
    is_blown = blown(w, r, &push);
    if (w->world_terrain == TERRAIN_FLAT) drive(r, is_blown ? &push : NULL, t);
    else climb(w, r, is_blown ? &push : NULL, t);
    to = track(w, r, t);
    r->pose_cos_yaw = to.cos_end;
    r->pose_sin_yaw = to.sin_end;
    move(to.north, &r->pose_north_m, &r->pose_north_carry_m);
    move(to.east, &r->pose_east_m, &r->pose_east_carry_m);
    r->travel_turn_left_rad = t->turn_left;
    r->travel_turn_right_rad = t->turn_right;
    r->pose_wheel_left_rad = r->pose_wheel_left_rad + t->turn_left;
    r->pose_wheel_right_rad = r->pose_wheel_right_rad + t->turn_right;
    r->k.speed_before = r->pose_speed_mps;
    r->k.yaw_before = r->pose_yaw_radps;
    r->pose_memory[0] = t->memory[0];
    r->pose_memory[1] = t->memory[1];
    r->pose_speed_mps = t->speed;
    r->pose_yaw_radps = t->yaw;
}

static void stand_on_ground(const world_t *w, rover_t *r) {
    double c = r->pose_cos_yaw, s = r->pose_sin_yaw, to_n, to_e, rise, x_scale, z_scale;
    double x0, x1, x2, z0, z1, z2;
    r->motion_north_m = r->pose_north_m;
    r->motion_east_m = r->pose_east_m;
    slope(w, r->pose_north_m, r->pose_east_m, &to_n, &to_e);
    rise = to_n * c + to_e * s;
    x_scale = 1.0 / sqrt(1.0 + rise * rise);
    x0 = c * x_scale; x1 = s * x_scale; x2 = -rise * x_scale;
    z_scale = 1.0 / sqrt(1.0 + (to_n * to_n + to_e * to_e));
    z0 = to_n * z_scale; z1 = to_e * z_scale; z2 = z_scale;
    r->motion_r00 = x0; r->motion_r01 = z1 * x2 - z2 * x1; r->motion_r02 = z0;
    r->motion_r10 = x1; r->motion_r11 = z2 * x0 - z0 * x2; r->motion_r12 = z1;
    r->motion_r20 = x2; r->motion_r21 = z0 * x1 - z1 * x0; r->motion_r22 = z2;
    r->motion_down_m = -height_m(w, r->pose_north_m, r->pose_east_m);
}

static void observe_slope(const world_t *w, rover_t *r, double ahead, double aside,
                          double sideways, double speed_mid) {
    double dt_s = r->k.dt_s;
    double a00 = r->motion_r00, a01 = r->motion_r01, a02 = r->motion_r02;
    double a10 = r->motion_r10, a11 = r->motion_r11, a12 = r->motion_r12;
    double a20 = r->motion_r20, a21 = r->motion_r21, a22 = r->motion_r22;
    stand_on_ground(w, r);
    double b00 = r->motion_r00, b01 = r->motion_r01, b02 = r->motion_r02;
    double b10 = r->motion_r10, b11 = r->motion_r11, b12 = r->motion_r12;
    double b20 = r->motion_r20, b21 = r->motion_r21, b22 = r->motion_r22;
    double r21 = a02 * b01 + a12 * b11 + a22 * b21, r12 = a01 * b02 + a11 * b12 + a21 * b22;
    double r02 = a00 * b02 + a10 * b12 + a20 * b22, r20 = a02 * b00 + a12 * b10 + a22 * b20;
    double r10 = a01 * b00 + a11 * b10 + a21 * b20, r01 = a00 * b01 + a10 * b11 + a20 * b21;
    double x = 0.5 * (r21 - r12), y = 0.5 * (r02 - r20), z = 0.5 * (r10 - r01);
    double s = x * x + y * y + z * z;
    double scale = 1.0 + s * (1.0 / 6.0 + s * (3.0 / 40.0 + s * (15.0 / 336.0
                   + s * (105.0 / 3456.0 + s * 945.0 / 42240.0))));
    double down, speed = r->pose_speed_mps;
    scale = scale / dt_s;
    x = x * scale; y = y * scale; z = z * scale;
    down = x * sideways - y * speed_mid;
    r->motion_accel_n_mps2 = b00 * ahead + b01 * aside + b02 * down;
    r->motion_accel_e_mps2 = b10 * ahead + b11 * aside + b12 * down;
    r->motion_accel_d_mps2 = b20 * ahead + b21 * aside + b22 * down;
    r->motion_vel_n_mps = b00 * speed + b01 * sideways + b02 * 0.0;
    r->motion_vel_e_mps = b10 * speed + b11 * sideways + b12 * 0.0;
    r->motion_vel_d_mps = b20 * speed + b21 * sideways + b22 * 0.0;
    r->motion_ang_accel_x_radps2 = (x - r->motion_rate_x_radps) / dt_s;
    r->motion_ang_accel_y_radps2 = (y - r->motion_rate_y_radps) / dt_s;
    r->motion_rate_x_radps = x;
    r->motion_rate_y_radps = y;
    r->motion_rate_z_radps = z;
}

static void observe(const world_t *w, rover_t *r) {
    const travel_t *t = &r->k.travel;
    double dt_s = r->k.dt_s, speed = r->pose_speed_mps, yaw = t->yaw_mean;
    double offset = r->rover_icr_offset_m, sideways = 0.0;
    double speed_mid = 0.5 * (r->k.speed_before + speed);
    double ahead = (speed - r->k.speed_before) / dt_s, aside = yaw * speed_mid;
    if (offset != 0.0) {
        double before = r->k.yaw_before * -offset;
        sideways = r->pose_yaw_radps * -offset;
        ahead = ahead - yaw * (0.5 * (before + sideways));
        aside = aside + (sideways - before) / dt_s;
    }
    r->motion_ang_accel_z_radps2 = (r->pose_yaw_radps - r->k.yaw_before) / dt_s;
    if (w->world_terrain == TERRAIN_FLAT) {
        double c = r->pose_cos_yaw, s = r->pose_sin_yaw;
        r->motion_rate_z_radps = yaw;
        r->motion_north_m = r->pose_north_m;
        r->motion_east_m = r->pose_east_m;
        r->motion_accel_n_mps2 = ahead * c - aside * s;
        r->motion_accel_e_mps2 = ahead * s + aside * c;
        r->motion_vel_n_mps = speed * c;
        r->motion_vel_e_mps = speed * s;
        if (offset != 0.0) {
            r->motion_vel_n_mps = r->motion_vel_n_mps - sideways * s;
            r->motion_vel_e_mps = r->motion_vel_e_mps + sideways * c;
        }
        r->motion_r00 = r->motion_r11 = c;
        r->motion_r10 = s;
        r->motion_r01 = -s;
    } else {
        observe_slope(w, r, ahead, aside, sideways, speed_mid);
    }
    r->motion_wheel_left_rad = r->pose_wheel_left_rad;
    r->motion_wheel_right_rad = r->pose_wheel_right_rad;
    r->motion_load_left = t->load_left;
    r->motion_load_right = t->load_right;
    r->motion_throttle_abs = t->throttle_abs;
    r->motion_speed_mps = speed;
    if (w->world_has_wind) {
        r->motion_wind_n_mps = w->world_wind[0];
        r->motion_wind_e_mps = w->world_wind[1];
    }
}

/* --- kinematics.py: truth ---------------------------------------------------------------------- */

static void quaternion(const rover_t *r, double *q) {
    double r00 = r->motion_r00, r01 = r->motion_r01, r02 = r->motion_r02, r10 = r->motion_r10;
    double r11 = r->motion_r11, r12 = r->motion_r12, r20 = r->motion_r20, r21 = r->motion_r21;
    double r22 = r->motion_r22, w, x, y, z, scale, sign;
    if (r00 + r11 + r22 > 0.0) {
        w = 0.5 * sqrt(1.0 + (r00 + r11 + r22));
        scale = 0.25 / w;
        q[0] = w; q[1] = (r21 - r12) * scale; q[2] = (r02 - r20) * scale; q[3] = (r10 - r01) * scale;
        return;
    }
    if (r00 >= r11 && r00 >= r22) {
        x = 0.5 * sqrt(1.0 + r00 - r11 - r22);
        scale = 0.25 / x;
        y = (r01 + r10) * scale; z = (r02 + r20) * scale; w = (r21 - r12) * scale;
    } else if (r11 >= r22) {
        y = 0.5 * sqrt(1.0 + r11 - r00 - r22);
        scale = 0.25 / y;
        x = (r01 + r10) * scale; z = (r12 + r21) * scale; w = (r02 - r20) * scale;
    } else {
        z = 0.5 * sqrt(1.0 + r22 - r00 - r11);
        scale = 0.25 / z;
        x = (r02 + r20) * scale; y = (r12 + r21) * scale; w = (r10 - r01) * scale;
    }
    sign = w < 0.0 ? -1.0 : 1.0;
    q[0] = w * sign; q[1] = x * sign; q[2] = y * sign; q[3] = z * sign;
}

static void truth_of(const rover_t *r, out_t *out) {
    double *t = out->truth;
    t[0] = r->motion_north_m; t[1] = r->motion_east_m; t[2] = r->motion_down_m;
    quaternion(r, t + 3);
    t[7] = r->motion_vel_n_mps; t[8] = r->motion_vel_e_mps; t[9] = r->motion_vel_d_mps;
    t[10] = r->motion_rate_x_radps; t[11] = r->motion_rate_y_radps; t[12] = r->motion_rate_z_radps;
    t[13] = r->motion_accel_n_mps2; t[14] = r->motion_accel_e_mps2; t[15] = r->motion_accel_d_mps2;
    t[16] = r->motion_ang_accel_x_radps2; t[17] = r->motion_ang_accel_y_radps2;
    t[18] = r->motion_ang_accel_z_radps2; t[19] = r->motion_wind_n_mps; t[20] = r->motion_wind_e_mps;
}

/* --- followed_motion.py -------------------------------------------------------------------------- */

static void follow(rover_t *r, double dt_s) {
    const double *seen = r->followed_seen;
    double w = seen[9], x = seen[10], y = seen[11], z = seen[12], speed, difference, ratio, load;
    double length = sqrt(w * w + x * x + y * y + z * z);
    double fx = seen[13], fy = seen[14], fz = seen[15], left = seen[19], right = seen[20];
    r->motion_north_m = seen[0]; r->motion_east_m = seen[1]; r->motion_down_m = seen[2];
    r->motion_vel_n_mps = seen[3]; r->motion_vel_e_mps = seen[4]; r->motion_vel_d_mps = seen[5];
    r->motion_rate_x_radps = seen[6]; r->motion_rate_y_radps = seen[7];
    r->motion_rate_z_radps = seen[8];
    w = w / length; x = x / length; y = y / length; z = z / length;
    r->motion_r00 = 1.0 - 2.0 * (y * y + z * z);
    r->motion_r01 = 2.0 * (x * y - w * z);
    r->motion_r02 = 2.0 * (x * z + w * y);
    r->motion_r10 = 2.0 * (x * y + w * z);
    r->motion_r11 = 1.0 - 2.0 * (x * x + z * z);
    r->motion_r12 = 2.0 * (y * z - w * x);
    r->motion_r20 = 2.0 * (x * z - w * y);
    r->motion_r21 = 2.0 * (y * z + w * x);
    r->motion_r22 = 1.0 - 2.0 * (x * x + y * y);
    r->motion_accel_n_mps2 = r->motion_r00 * fx + r->motion_r01 * fy + r->motion_r02 * fz;
    r->motion_accel_e_mps2 = r->motion_r10 * fx + r->motion_r11 * fy + r->motion_r12 * fz;
    r->motion_accel_d_mps2 = r->motion_r20 * fx + r->motion_r21 * fy + r->motion_r22 * fz + GRAVITY;
    if (seen[16] != 0.0) {
        r->motion_wind_n_mps = seen[17];
        r->motion_wind_e_mps = seen[18];
    }
    speed = r->motion_r00 * seen[3] + r->motion_r10 * seen[4] + r->motion_r20 * seen[5];
    difference = seen[8] * r->followed_half_track_m;
    r->motion_speed_mps = speed;
    r->motion_wheel_left_rad =
        r->motion_wheel_left_rad + (speed + difference) * dt_s / r->followed_wheel_radius_m;
    r->motion_wheel_right_rad =
        r->motion_wheel_right_rad + (speed - difference) * dt_s / r->followed_wheel_radius_m;
    r->motion_ang_accel_x_radps2 = seen[21]; r->motion_ang_accel_y_radps2 = seen[22];
    r->motion_ang_accel_z_radps2 = seen[23];
    if (seen[24] != 0.0) {
        r->motion_wheel_left_rad = seen[25];
        r->motion_wheel_right_rad = seen[26];
    }
    r->motion_throttle_abs = 0.5 * (fabs(left) + fabs(right));
    ratio = speed / r->followed_max_speed;
    load = fabs(left - ratio);
    r->motion_load_left = load > 1.0 ? 1.0 : load;
    load = fabs(right - ratio);
    r->motion_load_right = load > 1.0 ? 1.0 : load;
}

/* --- imu.py ------------------------------------------------------------------------------------ */

static void three(const double *f, double x, double y, double z, const double *bias, double sigma,
                  const double *n, double *out) {
    double u = f[0] * x + f[1] * y + f[2] * z + bias[0] + sigma * n[0];
    double v = f[3] * x + f[4] * y + f[5] * z + bias[1] + sigma * n[1];
    double w = f[6] * x + f[7] * y + f[8] * z + bias[2] + sigma * n[2];
    double limit = f[9], lsb = f[11], per_lsb = f[12];
    if (!(u * u + v * v + w * w < f[10])) {
        u = clipped(u, -limit, limit);
        v = clipped(v, -limit, limit);
        w = clipped(w, -limit, limit);
    }
    if (lsb != 0.0) {
        u = floor(u * per_lsb + 0.5) * lsb;
        v = floor(v * per_lsb + 0.5) * lsb;
        w = floor(w * per_lsb + 0.5) * lsb;
    }
    out[0] = u + 0.0; out[1] = v + 0.0; out[2] = w + 0.0;
}

static void imu_wander(const world_t *w, rover_t *r, int64_t now_us) {
    double draws[6];
    r->imu_wander_us = (now_us / 100000 + 1) * 100000;
    r->imu_warmth_c = r->imu_warmth_c + (r->imu_warm_up_c - r->imu_warmth_c) * r->k.warm_gain;
    take(w, r->imu_wander_key, &r->imu_wander_count, 6, draws);
    for (int i = 0; i < 6; i++) {
        r->imu_walk[i] = r->imu_walk[i] + r->imu_walk_rate[i] * r->k.root_s * draws[i];
        r->imu_bias[i] = r->imu_turn_on[i] + r->imu_walk[i] + r->imu_per_c[i] * r->imu_warmth_c;
    }
}

static void imu_sample(const world_t *world, rover_t *m, int64_t now_us, out_t *out) {
    double an = m->motion_accel_n_mps2, ae = m->motion_accel_e_mps2;
    double ad = m->motion_accel_d_mps2 - GRAVITY, draws[6];
    double accel_var = m->k.accel_var, gyro_var = m->k.gyro_var;
    double wx = m->motion_rate_x_radps, wy = m->motion_rate_y_radps, wz = m->motion_rate_z_radps;
    double fx = m->motion_r00 * an + m->motion_r10 * ae + m->motion_r20 * ad;
    double fy = m->motion_r01 * an + m->motion_r11 * ae + m->motion_r21 * ad;
    double fz = m->motion_r02 * an + m->motion_r12 * ae + m->motion_r22 * ad;
    tick(now_us, m->imu_period_us, m->imu_lead_us, &m->imu_next_us);
    if (now_us >= m->imu_wander_us) imu_wander(world, m, now_us);
    if (m->imu_has_lever) {
        double px = m->imu_lever[0], py = m->imu_lever[1], pz = m->imu_lever[2];
        double ax = m->motion_ang_accel_x_radps2, ay = m->motion_ang_accel_y_radps2;
        double az = m->motion_ang_accel_z_radps2;
        double vx = wy * pz - wz * py, vy = wz * px - wx * pz, vz = wx * py - wy * px;
        fx = fx + (ay * pz - az * py) + (wy * vz - wz * vy);
        fy = fy + (az * px - ax * pz) + (wz * vx - wx * vz);
        fz = fz + (ax * py - ay * px) + (wx * vy - wy * vx);
    }
    if (m->imu_shakes) {
        double throttle = m->motion_throttle_abs;
        double phase = (5.0 / TWO_PI) * m->motion_wheel_left_rad
                       + (3.0 / TWO_PI) * m->motion_wheel_right_rad;
        double moving = fabs(phase - m->imu_phase) * m->k.per_s, size, turned, shake, white;
        m->imu_phase = phase;
        size = (m->imu_shake[0] + m->imu_shake[1] * throttle) * (moving < 1.0 ? moving : 1.0);
        turned = phase - floor(phase + 0.5);
        shake = size * (turned * (8.0 - 16.0 * fabs(turned)));
        fx = fx + shake * 0.5;
        fy = fy + shake * 0.5;
        fz = fz + shake * 1.0;
        white = size * 0.05;
        accel_var = accel_var + white * white;
        white = throttle * m->imu_shake[2];
        gyro_var = gyro_var + white * white;
    }
    take(world, m->imu_key, &m->imu_count, 6, draws);
    three(m->imu_accel, fx, fy, fz, m->imu_bias, sqrt(accel_var), draws, out->imu);
    three(m->imu_gyro, wx, wy, wz, m->imu_bias + 3, sqrt(gyro_var), draws + 3, out->imu + 3);
    out->imu[6] = 25.0 + m->imu_warmth_c;
}

/* --- gps.py, frames.py ----------------------------------------------------------------------- */

static void geodetic_from_ned(const world_t *w, const double *ned, double *lla) {
    const double a = 6378137.0, f = 1.0 / 298.257223563, b = a * (1.0 - f), e = f * (2.0 - f);
    const double second = e / (1.0 - e);
    double north = ned[0], east = ned[1], down = ned[2];
    double out = -w->world_sin_lat * north - w->world_cos_lat * down, up = 0.0;
    double x = w->world_origin_ecef_m[0] + (w->world_cos_lon * out - w->world_sin_lon * east);
    double y = w->world_origin_ecef_m[1] + (w->world_sin_lon * out + w->world_cos_lon * east);
    double z = w->world_origin_ecef_m[2] + (w->world_cos_lat * north - w->world_sin_lat * down);
    double across = sqrt(x * x + y * y), rim = b * across, axis = a * z, length, cl, sl;
    for (int k = 0; k < 2; k++) {
        length = sqrt(rim * rim + axis * axis);
        double cos_b = rim / length, sin_b = axis / length;
        up = z + second * b * (sin_b * sin_b * sin_b);
        out = across - e * a * (cos_b * cos_b * cos_b);
        rim = out * a;
        axis = up * b;
    }
    length = sqrt(out * out + up * up);
    cl = out / length;
    sl = up / length;
    lla[0] = portable_atan2(up, out) * DEG_PER_RAD;
    lla[1] = portable_atan2(y, x) * DEG_PER_RAD;
    lla[2] = across * cl + z * sl - a * sqrt(1.0 - e * sl * sl);
}

/* The queue: how many fixes, then (when to deliver, FIX numbers) of each. */
#define FIX 11
#define SLOT(r, k) ((r)->gps_queue + 1 + (k) * (FIX + 1))

static void gps_wait(rover_t *r, int64_t epoch_us, const double *fix) {
    int64_t release_us = epoch_us + r->gps_latency_us, count = (int64_t)r->gps_queue[0];
    if (count && SLOT(r, count - 1)[0] > (double)release_us) count = 0;
    SLOT(r, count)[0] = (double)release_us;
    memcpy(SLOT(r, count) + 1, fix, FIX * sizeof *fix);
    r->gps_queue[0] = (double)(count + 1);
    r->gps_release_us = (int64_t)SLOT(r, 0)[0];
}

static int gps_release(rover_t *r, int64_t now_us, out_t *out) {
    int64_t count = (int64_t)r->gps_queue[0], due = 0;
    while (due < count && SLOT(r, due)[0] <= (double)now_us) due++;
    if (due) {
        memcpy(out->fix, SLOT(r, due - 1) + 1, FIX * sizeof(double));
        memmove(SLOT(r, 0), SLOT(r, due), (size_t)(count - due) * (FIX + 1) * sizeof(double));
        r->gps_queue[0] = (double)(count - due);
    }
    r->gps_release_us = count > due ? (int64_t)SLOT(r, 0)[0] : NEVER_US;
    return due > 0;
}

static void gps_measure(const world_t *w, rover_t *r, int64_t now_us) {
    double draws[13], lla[3], ned[3], vel[3], speed, fix[FIX];
    int64_t epoch_us, period = r->gps_fix_period_us, in_use, kind, sats;
    int lost;
    tick(now_us, r->gps_period_us, r->gps_lead_us, &r->gps_next_us);
    epoch_us = r->gps_period_us ? r->gps_next_us - r->gps_period_us : now_us;
    take(w, r->gps_key, &r->gps_count, 13, draws);
    for (int i = 0; i < 3; i++) {
        r->gps_drift_m[i] = r->k.gps_phi * r->gps_drift_m[i] + r->k.gps_gains[i] * draws[i];
        r->gps_vel_drift[i] = r->k.gps_vel_phi * r->gps_vel_drift[i] + r->k.gps_vel_gain * draws[3 + i];
    }
    sats = r->gps_satellites + (draws[12] > 2.2) - (draws[12] < -2.2);
    r->gps_satellites = sats < r->gps_few ? r->gps_few : sats > r->gps_many ? r->gps_many : sats;
    ned[0] = r->motion_north_m + r->gps_drift_m[0] + r->gps_white[0] * draws[6];
    ned[1] = r->motion_east_m + r->gps_drift_m[1] + r->gps_white[1] * draws[7];
    ned[2] = r->motion_down_m + r->gps_drift_m[2] + r->gps_white[2] * draws[8];
    geodetic_from_ned(w, ned, lla);
    vel[0] = r->motion_vel_n_mps + r->gps_vel_drift[0] + r->gps_vel_white * draws[9] + 0.0;
    vel[1] = r->motion_vel_e_mps + r->gps_vel_drift[1] + r->gps_vel_white * draws[10] + 0.0;
    vel[2] = r->motion_vel_d_mps + r->gps_vel_drift[2] + r->gps_vel_white * draws[11] + 0.0;
    if (r->gps_rounds) {
        lla[0] = rounded(lla[0], 1.0e7);
        lla[1] = rounded(lla[1], 1.0e7);
        lla[2] = rounded(lla[2], 1.0e3);
        for (int i = 0; i < 3; i++) vel[i] = rounded(vel[i], 1.0e3);
    } else {
        for (int i = 0; i < 3; i++) lla[i] = lla[i] + 0.0;
    }
    speed = sqrt(vel[0] * vel[0] + vel[1] * vel[1]);
    if (speed >= 0.1) {
        double angle = portable_atan2(vel[1], vel[0]) * DEG_PER_RAD, wrapped;
        angle = r->gps_rounds ? rounded(angle, 1.0e5) : angle + 0.0;
        wrapped = angle - 360.0 * floor(angle / 360.0);
        r->gps_course_deg = wrapped >= 360.0 || wrapped < 0.0 ? 0.0 : wrapped;
    }
    if (r->gps_rounds) speed = rounded(speed, 1.0e3);
    if (r->gps_power_on_us < 0) r->gps_power_on_us = epoch_us;
    if (period && floor_div(epoch_us, period) == floor_div(r->gps_epoch_us, period)) return;
    r->gps_epoch_us = epoch_us;
    in_use = r->gps_satellites_set < 0 ? r->gps_satellites : r->gps_satellites_set;
    lost = r->gps_is_jammed || epoch_us - r->gps_power_on_us < r->gps_lock_us || in_use < 3;
    kind = lost ? 0 : in_use < 4 ? 1 : r->gps_best_fix;
    if (lost) {
        in_use = r->gps_satellites_set < 0 ? 0 : r->gps_satellites_set < 2 ? r->gps_satellites_set : 2;
    } else {
        r->gps_known[0] = lla[0];
        r->gps_known[1] = lla[1];
        if (kind != 1) r->gps_known[2] = lla[2];
    }
    memcpy(fix, r->gps_known, sizeof r->gps_known);
    fix[3] = lost ? 0.0 : speed;
    fix[4] = r->gps_course_deg;
    for (int i = 0; i < 3; i++) fix[5 + i] = lost ? 0.0 : vel[i];
    fix[8] = lost ? 99.99 : (double)(80 + 5 * (in_use < 12 ? 12 - in_use : 0)) / 100.0;
    fix[9] = (double)kind;
    fix[10] = (double)in_use;
    gps_wait(r, epoch_us, fix);
}

/* --- onboard_sensors.py, ambient_sensors.py ----------------------------------------------------- */

static void battery_draw(rover_t *r) {
    double load = r->motion_load_left + r->motion_load_right, loaded;
    double motors = r->motion_throttle_abs * (r->battery_both_run_a + r->battery_stall_more_a * load);
    r->battery_current_a = r->battery_idle_a + motors;
    r->battery_used_as = r->battery_used_as + r->battery_current_a * r->k.dt_s;
    loaded = r->battery_open_v - r->battery_current_a * r->battery_resistance;
    r->battery_voltage_v = r->battery_voltage_v + (loaded - r->battery_voltage_v) * r->k.battery_gain;
    r->battery_ratio = r->battery_voltage_v / r->battery_rated_v;
    r->suite_battery_ratio = r->battery_ratio;
}

static void battery_sample(rover_t *r, int64_t now_us, out_t *out) {
    static const double at[7] = {0.02, 0.15, 0.23, 0.35, 0.50, 0.77, 1.00};
    static const double volts[7] = {2.98, 3.30, 3.46, 3.59, 3.74, 3.94, 4.17};
    double charge = r->battery_initial - r->battery_used_as / r->battery_capacity_as;
    int line = 0;
    tick(now_us, r->battery_period_us, r->battery_lead_us, &r->battery_next_us);
    if (!(charge > 0.0)) charge = 0.0;
    for (int k = 1; k < 6; k++)
        if (charge >= at[k]) line = k;
    r->battery_open_v = r->battery_fixed_v;
    if (!(r->battery_fixed_v > 0.0)) {
        double per = (volts[line + 1] - volts[line]) / (at[line + 1] - at[line]);
        r->battery_open_v = (volts[line] + (charge - at[line]) * per) * r->battery_cells;
    }
    out->battery[0] = r->battery_voltage_v;
    out->battery[1] = r->battery_current_a;
    out->battery[2] = charge;
}

static int64_t lost_ticks(const rover_t *r, int64_t added, int64_t draw) {
    double count = (double)(added < 0 ? -added : added);
    int64_t lost = (int64_t)floor(count * r->encoder_miss + uniform(r->encoder_key, (uint64_t)draw));
    return added < 0 ? -lost : lost;
}

static void encoder_sample(rover_t *r, int64_t now_us, out_t *out) {
    int64_t left = (int64_t)floor(r->motion_wheel_left_rad * r->encoder_per_rad);
    int64_t right = (int64_t)floor(r->motion_wheel_right_rad * r->encoder_per_rad);
    tick(now_us, r->encoder_period_us, r->encoder_lead_us, &r->encoder_next_us);
    if (r->encoder_miss != 0.0) {
        r->encoder_missed_left += lost_ticks(r, left - r->encoder_seen_left, 2 * r->encoder_draws);
        r->encoder_missed_right += lost_ticks(r, right - r->encoder_seen_right,
                                              2 * r->encoder_draws + 1);
        r->encoder_draws += 1;
        r->encoder_seen_left = left;
        r->encoder_seen_right = right;
        left -= r->encoder_missed_left;
        right -= r->encoder_missed_right;
    }
    out->ticks[0] = left;
    out->ticks[1] = right;
}

static void compass_sample(const world_t *w, rover_t *m, int64_t now_us, out_t *out) {
    double n = m->compass_field[0], e = m->compass_field[1], d = m->compass_field[2], draws[3];
    double current = m->battery_has ? m->battery_current_a : 0.0, f[3];
    f[0] = m->motion_r00 * n + m->motion_r10 * e + m->motion_r20 * d;
    f[1] = m->motion_r01 * n + m->motion_r11 * e + m->motion_r21 * d;
    f[2] = m->motion_r02 * n + m->motion_r12 * e + m->motion_r22 * d;
    tick(now_us, m->compass_period_us, m->compass_lead_us, &m->compass_next_us);
    if (m->compass_has_soft_iron) {
        const double *s = m->compass_soft;
        double x = f[0], y = f[1], z = f[2];
        for (int i = 0; i < 3; i++) f[i] = s[3 * i] * x + s[3 * i + 1] * y + s[3 * i + 2] * z;
    }
    take(w, m->compass_key, &m->compass_count, 3, draws);
    for (int i = 0; i < 3; i++)
        out->mag[i] = saturate_and_quantise(
            m->compass_limit, m->compass_lsb,
            f[i] + m->compass_hard[i] + m->compass_motor[i] * current + m->compass_white * draws[i]);
}

static void barometer_sample(const world_t *w, rover_t *r, int64_t now_us, out_t *out) {
    double draws[2], above = clipped(0.0 - r->motion_down_m, -4000.0, 4000.0);
    double x = r->barometer_per_m * above, series = r->barometer_series[0];
    tick(now_us, r->barometer_period_us, r->barometer_lead_us, &r->barometer_next_us);
    take(w, r->barometer_key, &r->barometer_count, 2, draws);
    r->barometer_drift = r->k.baro_phi * r->barometer_drift + r->k.baro_gain * draws[0];
    for (int k = 1; k < 9; k++) series = series * x + r->barometer_series[k];
    out->baro[0] = saturate_and_quantise(
        1.0e12, r->barometer_lsb,
        r->barometer_origin_pa * series + r->barometer_turn_on + r->barometer_drift
            + r->barometer_white * draws[1]);
    out->baro[1] = 15.0 - 0.0065 * (r->barometer_origin_alt_m + above);
}

/* --- scene.py ------------------------------------------------------------------------------------ */

static void centre_m(const rover_t *r, double *north, double *east) {
    double ahead = r->rover_center_ahead_m;
    *north = r->pose_north_m;
    *east = r->pose_east_m;
    if (ahead != 0.0) {
        *north = r->pose_north_m + ahead * r->pose_cos_yaw;
        *east = r->pose_east_m + ahead * r->pose_sin_yaw;
    }
}

static double ray_to_disc(double to_n, double to_e, double dir_n, double dir_e, double radius) {
    double along = to_n * dir_n + to_e * dir_e, under;
    double outside = (to_n * to_n + to_e * to_e) - radius * radius;
    if (outside <= 0.0) return 0.0;
    under = along * along - outside;
    return under >= 0.0 && along > 0.0 ? along - sqrt(under) : FAR_M;
}

static void between(double start, double direction, double half, double *enter, double *leave) {
    double one, other;
    if (fabs(direction) < 1e-12) {
        int inside = fabs(start) <= half;
        *enter = inside ? -FAR_M : FAR_M;
        *leave = inside ? FAR_M : -FAR_M;
        return;
    }
    one = (-half - start) / direction;
    other = (half - start) / direction;
    *enter = one < other ? one : other;
    *leave = one < other ? other : one;
}

/* An outline: north, east, cos, sin, half_a, half_b, round. */
static double ray_to_box(const double *o, double north_m, double east_m, double dn, double de) {
    double north = north_m - o[0], east = east_m - o[1], in_a, out_a, in_b, out_b, enter, leave;
    between(north * o[2] + east * o[3], dn * o[2] + de * o[3], o[4], &in_a, &out_a);
    between(east * o[2] - north * o[3], de * o[2] - dn * o[3], o[5], &in_b, &out_b);
    enter = in_a > in_b ? in_a : in_b;
    enter = enter > 0.0 ? enter : 0.0;
    leave = out_a < out_b ? out_a : out_b;
    return enter <= leave ? enter : FAR_M;
}

static double cast(const world_t *w, const rover_t *rovers, int64_t count, const rover_t *me,
                   double dn, double de, double max_m) {
    const double *o = (const double *)(intptr_t)w->world_outlines;
    double north = me->motion_north_m, east = me->motion_east_m, nearest = max_m, hit;
    for (int64_t k = 0; k < w->world_outline_count; k++, o += 7) {
        hit = o[4] > 0.0 ? ray_to_box(o, north, east, dn, de)
                         : ray_to_disc(o[0] - north, o[1] - east, dn, de, o[6]);
        nearest = hit < nearest ? hit : nearest;
    }
    if (!w->world_sees_vehicles) return nearest;
    for (int64_t k = 0; k < count; k++) {
        double at_n, at_e;
        if (rovers + k == me) continue;
        centre_m(rovers + k, &at_n, &at_e);
        hit = ray_to_disc(at_n - north, at_e - east, dn, de, rovers[k].rover_radius_m);
        nearest = hit < nearest ? hit : nearest;
    }
    return nearest;
}

static void range_sample(const world_t *w, const rover_t *rovers, int64_t count, rover_t *m,
                         int index, int64_t now_us, out_t *out) {
    range_t *s = m->range + index;
    double draw, seen = s->max_m, read = s->max_m;
    tick(now_us, s->period_us, s->lead_us, &s->next_us);
    take(w, s->key, &s->count, 1, &draw);
    for (int64_t k = 0; k < s->ray_count; k++) {
        double sine = s->rays[2 * k], cosine = s->rays[2 * k + 1], far;
        double dn = m->motion_r00 * cosine + m->motion_r01 * sine;
        double de = m->motion_r10 * cosine + m->motion_r11 * sine;
        double length = sqrt(dn * dn + de * de);
        if (length == 0.0) length = 1.0;
        far = cast(w, rovers, count, m, dn / length, de / length, s->max_m);
        seen = far < seen ? far : seen;
    }
    if (seen < s->max_m) {
        read = seen + (s->white_m + s->relative * seen) * draw;
        read = read > s->max_m ? s->max_m : read < s->min_m ? s->min_m : read;
    }
    out->ranges[index] = read;
}

/* --- sensor_suite.py ------------------------------------------------------------------------------ */

static void align(rover_t *r, int64_t last_us) {
    r->battery_next_us = aligned(last_us, r->battery_period_us, r->battery_lead_us);
    r->imu_next_us = aligned(last_us, r->imu_period_us, r->imu_lead_us);
    r->imu_wander_us = (floor_div(last_us, 100000) + 1) * 100000;
    r->gps_next_us = aligned(last_us, r->gps_period_us, r->gps_lead_us);
    r->compass_next_us = aligned(last_us, r->compass_period_us, r->compass_lead_us);
    r->barometer_next_us = aligned(last_us, r->barometer_period_us, r->barometer_lead_us);
    r->encoder_next_us = aligned(last_us, r->encoder_period_us, r->encoder_lead_us);
    for (int k = 0; k < RANGES; k++)
        r->range[k].next_us = aligned(last_us, r->range[k].period_us, r->range[k].lead_us);
}

#define OUTS(w) ((out_t *)(intptr_t)(w)->world_outs)
enum { HAS_IMU = 1, HAS_GPS = 2, HAS_COMPASS = 4, HAS_BARO = 8, HAS_RANGES = 16, HAS_TICKS = 32,
       HAS_BATTERY = 64 };

static void sample(const world_t *w, const rover_t *rovers, int64_t count, rover_t *r,
                   int64_t now_us, int64_t dt_us) {
    int64_t flags = 0;
    out_t *out = OUTS(w) + (r - rovers);
    if (now_us - dt_us != r->suite_last_us) align(r, now_us - dt_us);
    r->suite_last_us = now_us;
    if (r->battery_has) {
        battery_draw(r);
        if (now_us >= r->battery_next_us) {
            battery_sample(r, now_us, out);
            flags |= HAS_BATTERY;
        }
    }
    if (r->imu_has && now_us >= r->imu_next_us) {
        imu_sample(w, r, now_us, out);
        flags |= HAS_IMU;
    }
    if (r->gps_has) {
        if (now_us >= r->gps_next_us) gps_measure(w, r, now_us);
        if (now_us >= r->gps_release_us && gps_release(r, now_us, out)) flags |= HAS_GPS;
    }
    if (r->compass_has && now_us >= r->compass_next_us) {
        compass_sample(w, r, now_us, out);
        flags |= HAS_COMPASS;
    }
    if (r->barometer_has && now_us >= r->barometer_next_us) {
        barometer_sample(w, r, now_us, out);
        flags |= HAS_BARO;
    }
    if (r->encoder_has && now_us >= r->encoder_next_us) {
        encoder_sample(r, now_us, out);
        flags |= HAS_TICKS;
    }
    if (r->range[0].has && now_us >= r->range[0].next_us) {
        for (int k = 0; k < RANGES && r->range[k].has; k++)
            range_sample(w, rovers, count, r, k, now_us, out);
        flags |= HAS_RANGES;
    }
    out->flags = flags;
    truth_of(r, out);
}

/* --- contacts.py: who must be looked at --------------------------------------------------------- */

static double gap_m(const rover_t *a, const rover_t *b, double north, double east) {
    return sqrt(north * north + east * east) - a->rover_radius_m - b->rover_radius_m;
}

static double clearance_m(const double *o, double north_m, double east_m) {
    double north = north_m - o[0], east = east_m - o[1];
    double a = fabs(north * o[2] + east * o[3]) - o[4], b = fabs(east * o[2] - north * o[3]) - o[5];
    if (a <= 0.0 && b <= 0.0) return (a > b ? a : b) - o[6];
    a = a > 0.0 ? a : 0.0;
    b = b > 0.0 ? b : 0.0;
    return sqrt(a * a + b * b) - o[6];
}

static int has_left(const rover_t *r) {
    double north, east;
    centre_m(r, &north, &east);
    north = north - r->rover_seen_north_m;
    east = east - r->rover_seen_east_m;
    if (north * north + east * east > r->rover_free_sq) return 1;
    if (r->rover_center_ahead_m == 0.0) return 0;
    north += r->rover_start_north_m - r->pose_north_m;
    east += r->rover_start_east_m - r->pose_east_m;
    return north * north + east * east > r->rover_free_sq;
}

static double reach_m(const rover_t *r) {
    double north = r->pose_north_m - r->rover_start_north_m;
    double east = r->pose_east_m - r->rover_start_east_m;
    return sqrt(north * north + east * east);
}

static void lower_free(rover_t *r, double free_m) {
    double free_sq = free_m > 0.0 ? free_m * free_m : -1.0;
    if (free_sq < r->rover_free_sq) r->rover_free_sq = free_sq;
}

/* Note the free distance of all that used theirs up; returns how many. */
static int64_t look(const world_t *w, rover_t *rovers, int64_t count) {
    int64_t looked = 0, again = 1;
    for (int64_t i = 0; i < count; i++) rovers[i].k.looked = 0;
    while (again) {
        again = 0;
        for (int64_t i = 0; i < count; i++) {
            rover_t *r = rovers + i;
            const double *o = (const double *)(intptr_t)w->world_outlines;
            if (r->k.looked || !has_left(r)) continue;
            r->k.looked = again = 1;
            looked++;
            centre_m(r, &r->rover_seen_north_m, &r->rover_seen_east_m);
            r->rover_free_sq = 1e12;
            for (int64_t j = 0; j < count; j++) {
                double half;
                if (j == i) continue;
                half = 0.5 * gap_m(r, rovers + j,
                                   r->rover_seen_north_m - rovers[j].rover_seen_north_m,
                                   r->rover_seen_east_m - rovers[j].rover_seen_east_m) - MARGIN_M;
                lower_free(r, half);
                lower_free(rovers + j, half);
            }
            for (int64_t k = 0; k < w->world_outline_count; k++, o += 7)
                lower_free(r, clearance_m(o, r->rover_seen_north_m, r->rover_seen_east_m)
                              - r->rover_radius_m - MARGIN_M);
        }
    }
    return looked;
}

/* Write the (vehicle, vehicle) and (vehicle, -1 - obstacle) that may meet; returns how many. */
static int64_t candidates(const world_t *w, const rover_t *rovers, int64_t count, int64_t *found) {
    int64_t n = 0;
    for (int64_t i = 0; i < count && n < CANDIDATES; i++) {
        const rover_t *r = rovers + i;
        const double *o = (const double *)(intptr_t)w->world_outlines;
        double north, east, reach;
        if (!r->k.looked) continue;
        centre_m(r, &north, &east);
        reach = reach_m(r);
        for (int64_t j = 0; j < count && n < CANDIDATES; j++) {
            double at_n, at_e;
            if (j == i || (j < i && rovers[j].k.looked)) continue;
            centre_m(rovers + j, &at_n, &at_e);
            if (gap_m(r, rovers + j, at_n - north, at_e - east)
                < REACHES * (reach + reach_m(rovers + j)) + MARGIN_M) {
                found[2 * n] = i < j ? i : j;
                found[2 * n++ + 1] = i < j ? j : i;
            }
        }
        for (int64_t k = 0; k < w->world_outline_count && n < CANDIDATES; k++, o += 7)
            if (clearance_m(o, north, east) - r->rover_radius_m < REACHES * reach + MARGIN_M) {
                found[2 * n] = i;
                found[2 * n++ + 1] = -1 - k;
            }
    }
    return n;
}

/* --- published.py: the bytes of a step that the digest is fed with ------------------------------- */

/* MessagePack, byte for byte as the encoder of Python's messages writes it. */
typedef struct { uint8_t *at; int impossible; } pen_t;

#define TRACE_BYTES 2048 /* more than a vehicle ever needs, with eight rangefinders */
#define KEY(pen, name) put_key(pen, name, sizeof(name) - 1)

static void put_byte(pen_t *p, int byte) { *p->at++ = (uint8_t)byte; }

static void put_bytes(pen_t *p, uint64_t bits, int count) {
    for (int shift = 8 * (count - 1); shift >= 0; shift -= 8) put_byte(p, (int)(bits >> shift & 255));
}

static void put_key(pen_t *p, const char *name, size_t length) {
    put_byte(p, 0xa0 | (int)length);
    memcpy(p->at, name, length);
    p->at += length;
}

static void put_double(pen_t *p, double value) {
    uint64_t bits;
    if (!isfinite(value)) p->impossible = 1;
    memcpy(&bits, &value, sizeof bits);
    put_byte(p, 0xcb);
    put_bytes(p, bits, 8);
}

static void put_int(pen_t *p, int64_t value) {
    uint64_t bits = (uint64_t)value;
    if (value >= 0) {
        int size = value < 256 ? 1 : value < 65536 ? 2 : value < 4294967296 ? 4 : 8;
        if (value < 128) { put_byte(p, (int)value); return; }
        put_byte(p, size == 1 ? 0xcc : size == 2 ? 0xcd : size == 4 ? 0xce : 0xcf);
        put_bytes(p, bits, size);
    } else {
        int size = value >= -128 ? 1 : value >= -32768 ? 2 : value >= -2147483648LL ? 4 : 8;
        if (value >= -32) { put_byte(p, (int)(value & 255)); return; }
        put_byte(p, size == 1 ? 0xd0 : size == 2 ? 0xd1 : size == 4 ? 0xd2 : 0xd3);
        put_bytes(p, bits, size);
    }
}

static void put_doubles(pen_t *p, const double *values, int count) {
    put_byte(p, 0x90 | count);
    for (int i = 0; i < count; i++) put_double(p, values[i]);
}

static void put_none(pen_t *p) { put_byte(p, 0xc0); }

static void put_truth(pen_t *p, const rover_t *r, const out_t *o, int64_t now_us) {
    const double *t = o->truth, wind[3] = {t[19], t[20], 0.0};
    put_byte(p, 0x8b);
    KEY(p, "timestamp_us"); put_int(p, now_us);
    KEY(p, "vehicle_id"); put_int(p, r->suite_vehicle_id);
    KEY(p, "north_m"); put_double(p, t[0]);
    KEY(p, "east_m"); put_double(p, t[1]);
    KEY(p, "down_m"); put_double(p, t[2]);
    KEY(p, "quat_wxyz"); put_doubles(p, t + 3, 4);
    KEY(p, "velocity_ned_mps"); put_doubles(p, t + 7, 3);
    KEY(p, "rates_frd_radps"); put_doubles(p, t + 10, 3);
    KEY(p, "accel_ned_mps2"); put_doubles(p, t + 13, 3);
    KEY(p, "angular_accel_frd_radps2"); put_doubles(p, t + 16, 3);
    KEY(p, "wind_ned_mps"); put_doubles(p, wind, 3);
}

static void put_imu(pen_t *p, const out_t *o) {
    put_byte(p, 0x83);
    KEY(p, "accel_mss"); put_doubles(p, o->imu, 3);
    KEY(p, "gyro_rads"); put_doubles(p, o->imu + 3, 3);
    KEY(p, "temperature_c"); put_double(p, o->imu[6]);
}

static void put_gps(pen_t *p, const out_t *o) {
    const double *fix = o->fix;
    if (!(fix[0] >= -90.0 && fix[0] <= 90.0 && fix[1] >= -180.0 && fix[1] <= 180.0))
        p->impossible = 1;
    put_byte(p, 0x89);
    KEY(p, "lat_deg"); put_double(p, fix[0]);
    KEY(p, "lon_deg"); put_double(p, fix[1]);
    KEY(p, "alt_m"); put_double(p, fix[2]);
    KEY(p, "speed_ms"); put_double(p, fix[3]);
    KEY(p, "course_deg"); put_double(p, fix[4]);
    KEY(p, "velocity_ned_mps"); put_doubles(p, fix + 5, 3);
    KEY(p, "fix_type"); put_int(p, (int64_t)fix[9]);
    KEY(p, "satellites"); put_int(p, (int64_t)fix[10]);
    KEY(p, "hdop"); put_double(p, fix[8]);
}

static void put_ranges(pen_t *p, const rover_t *r, const out_t *o) {
    int count = 0;
    while (count < RANGES && r->range[count].has) count++;
    put_byte(p, 0x90 | count);
    for (int k = 0; k < count; k++) {
        if (!(o->ranges[k] >= 0.0)) p->impossible = 1;
        put_byte(p, 0x84);
        KEY(p, "distance_m"); put_double(p, o->ranges[k]);
        KEY(p, "min_m"); put_double(p, r->range[k].min_m);
        KEY(p, "max_m"); put_double(p, r->range[k].max_m);
        KEY(p, "bearing_deg"); put_double(p, r->range[k].bearing_deg);
    }
}

static void put_sensors(pen_t *p, const rover_t *r, const out_t *o, int64_t now_us) {
    int64_t new = o->flags;
    put_byte(p, 0x8a);
    KEY(p, "timestamp_us"); put_int(p, now_us);
    KEY(p, "vehicle_id"); put_int(p, r->suite_vehicle_id);
    KEY(p, "imu");
    if (new & HAS_IMU) put_imu(p, o); else put_none(p);
    KEY(p, "gps");
    if (new & HAS_GPS) put_gps(p, o); else put_none(p);
    KEY(p, "compass");
    if (new & HAS_COMPASS) {
        put_byte(p, 0x81);
        KEY(p, "mag_gauss"); put_doubles(p, o->mag, 3);
    } else put_none(p);
    KEY(p, "barometer");
    if (new & HAS_BARO) {
        if (!(o->baro[0] > 0.0)) p->impossible = 1;
        put_byte(p, 0x82);
        KEY(p, "pressure_pa"); put_double(p, o->baro[0]);
        KEY(p, "temperature_c"); put_double(p, o->baro[1]);
    } else put_none(p);
    KEY(p, "rangefinders");
    if (new & HAS_RANGES) put_ranges(p, r, o); else put_none(p);
    KEY(p, "attitude_quat"); put_none(p);
    KEY(p, "encoders");
    if (new & HAS_TICKS) {
        put_byte(p, 0x82);
        KEY(p, "ticks"); put_byte(p, 0x92); put_int(p, o->ticks[0]); put_int(p, o->ticks[1]);
        KEY(p, "ticks_per_turn"); put_int(p, r->encoder_per_turn);
    } else put_none(p);
    KEY(p, "battery");
    if (new & HAS_BATTERY) {
        put_byte(p, 0x83);
        KEY(p, "voltage_v"); put_double(p, o->battery[0]);
        KEY(p, "current_a"); put_double(p, o->battery[1]);
        KEY(p, "remaining"); put_double(p, o->battery[2]);
    } else put_none(p);
}

/* The end of one value; NULL for a kind that no command has. */
static const uint8_t *after_value(const uint8_t *at) {
    int kind = *at++, count = 0;
    if (kind < 0x80 || kind >= 0xe0 || kind == 0xc0) return at;
    if ((kind & 0xe0) == 0xa0) return at + (kind & 31);
    switch (kind) {
    case 0xcc: case 0xd0: return at + 1;
    case 0xcd: case 0xd1: return at + 2;
    case 0xce: case 0xd2: return at + 4;
    case 0xcf: case 0xd3: case 0xcb: return at + 8;
    }
    if ((kind & 0xf0) == 0x80) count = 2 * (kind & 15);
    else if ((kind & 0xf0) == 0x90) count = kind & 15;
    else return NULL;
    while (count-- && at) at = after_value(at);
    return at;
}

/* --- what Python calls ------------------------------------------------------------------------------ */

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

EXPORT int64_t pico_gz_sizes(int64_t which) {
    const int64_t sizes[] = {sizeof(rover_t), sizeof(world_t), offsetof(rover_t, k), sizeof(out_t),
                             TRACE_BYTES};
    return sizes[which];
}

#define ROVERS(w) ((rover_t *)(intptr_t)(w)->world_rovers)

EXPORT void pico_gz_sense(const world_t *w) {
    rover_t *rovers = ROVERS(w);
    for (int64_t i = 0; i < w->world_count; i++)
        if (rovers[i].is_active) observe(w, rovers + i);
    for (int64_t i = 0; i < w->world_count; i++)
        if (rovers[i].is_active)
            sample(w, rovers, w->world_count, rovers + i, w->world_now_us, w->world_dt_us);
}

/* Follow and sense the vehicles that were seen at the end of this step. */
EXPORT void pico_gz_follow(const world_t *w) {
    rover_t *rovers = ROVERS(w);
    for (int64_t i = 0; i < w->world_count; i++) {
        rover_t *r = rovers + i;
        if (!r->is_active || r->followed_time_us != w->world_now_us) continue;
        if (r->k.dt_us != w->world_dt_us) prepare(r, w->world_dt_us);
        follow(r, (double)w->world_dt_us / (double)US_PER_S);
        sample(w, rovers, w->world_count, r, w->world_now_us, w->world_dt_us);
    }
}

/* Move all active vehicles. Unless something may have met, or a pause is asked for, also sense.
 * Returns how many candidates were found, -1 after a pause without any. */
EXPORT int64_t pico_gz_step(const world_t *w) {
    rover_t *rovers = ROVERS(w);
    int64_t n = 0, count = w->world_count;
    for (int64_t i = 0; i < count; i++)
        if (rovers[i].is_active) advance(w, rovers + i, w->world_dt_us);
    if (w->world_contacts && look(w, rovers, count))
        n = candidates(w, rovers, count, (int64_t *)(intptr_t)w->world_candidates);
    if (n || w->world_pause) return n ? n : -1;
    pico_gz_sense(w);
    return 0;
}

/* Write [truth, sensors, command] of all vehicles at `to`; `commands` is the list of theirs.
 * Returns how many bytes; -1 when Python's messages would refuse a sample, or have to be asked. */
EXPORT int64_t pico_gz_trace(const world_t *w, const out_t *outs, int64_t now_us,
                             const uint8_t *commands, uint8_t *to) {
    const rover_t *rovers = ROVERS(w);
    int64_t count = w->world_count;
    pen_t pen = {to, 0};
    commands += count < 16 ? 1 : 3; /* the head of the list */
    if (count < 16) put_byte(&pen, 0x90 | (int)count);
    else { put_byte(&pen, 0xdc); put_bytes(&pen, (uint64_t)count, 2); }
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *end = after_value(commands);
        if (!end || !rovers[i].is_active || end - commands > 256) return -1;
        put_byte(&pen, 0x93);
        put_truth(&pen, rovers + i, outs + i, now_us);
        put_sensors(&pen, rovers + i, outs + i, now_us);
        memcpy(pen.at, commands, (size_t)(end - commands));
        pen.at += end - commands;
        commands = end;
    }
    return pen.impossible ? -1 : pen.at - to;
}
