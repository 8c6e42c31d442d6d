/* Gives the process that it is preloaded into the same "random" bytes each time: those of a generator that begins with
   the number in LEASEHOLD_SIMULATION_SEED. Standard libraries and crates draw their seeds and ids through getrandom. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

static uint64_t state;

__attribute__((constructor)) static void begin(void) {
  const char *seed = getenv("LEASEHOLD_SIMULATION_SEED");
  state = seed ? strtoull(seed, 0, 10) : 0;
}

/* SplitMix64. */
static uint64_t next(void) {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags) {
  (void)flags;
  unsigned char *bytes = buffer;
  for (size_t i = 0; i < length; i++) bytes[i] = (unsigned char)next();
  return (ssize_t)length;
}
