/* Runs the core under an emulator: calls and memory come in on stdin, results go out on stdout.
 *
 * Compiled together with core.c; emulated_core.py is the other end. All numbers have 8 bytes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "layout.h"

int64_t pico_gz_sizes(int64_t which);
int64_t pico_gz_step(const world_t *w);
void pico_gz_sense(const world_t *w);
void pico_gz_follow(const world_t *w);

static void take(void *to, size_t size) {
    if (size && fread(to, size, 1, stdin) != 1) exit(feof(stdin) ? 0 : 1);
}

/* A block of memory, with its size before it; the world gets its address. */
static void *take_block(int64_t *address, int64_t *size) {
    take(size, sizeof *size);
    void *block = malloc((size_t)*size + 1);
    if (!block) exit(1);
    take(block, (size_t)*size);
    *address = (int64_t)(intptr_t)block;
    return block;
}

static void give(const void *from, size_t size) {
    if (size && fwrite(from, size, 1, stdout) != 1) exit(1);
}

int main(void) {
    static int64_t found[2 * CANDIDATES];
    int64_t which, size, starts, widths;
    for (which = 0; which < 4; which++) {
        size = pico_gz_sizes(which);
        give(&size, sizeof size);
    }
    fflush(stdout);
    take_block(&starts, &size);
    take_block(&widths, &size);
    for (;;) {
        world_t world;
        int64_t result = 0, ignored, outs_size;
        take(&which, sizeof which);
        take(&world, sizeof world);
        world.world_starts = starts;
        world.world_widths = widths;
        world.world_candidates = (int64_t)(intptr_t)found;
        void *heights = take_block(&world.world_heights, &ignored);
        void *outlines = take_block(&world.world_outlines, &ignored);
        void *rovers = take_block(&world.world_rovers, &size);
        void *outs = take_block(&world.world_outs, &outs_size);
        if (which == 0) result = pico_gz_step(&world);
        if (which == 1) pico_gz_sense(&world);
        if (which == 2) pico_gz_follow(&world);
        give(&result, sizeof result);
        if (result > 0) give(found, 2 * (size_t)result * sizeof *found);
        give(rovers, (size_t)size);
        give(outs, (size_t)outs_size);
        fflush(stdout);
        free(heights);
        free(outlines);
        free(rovers);
        free(outs);
    }
}
