/* Shifts the wall clock of the process that it is preloaded into by as many nanoseconds as the file named by
   LEASEHOLD_CLOCK_OFFSET begins with, or lets it stand at the second number there, unless that is 0; read anew each
   time. Clocks that nobody can set are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile long long *offset, *standing;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("LEASEHOLD_CLOCK_OFFSET");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *map = mmap(0, 2 * sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) return;
  offset = map;
  standing = offset + 1;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(clock, now);
  if (failed || !offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
  long long stands = *standing;
  long long shifted = stands ? stands : now->tv_sec * 1000000000LL + now->tv_nsec + *offset;
  now->tv_sec = shifted / 1000000000LL;
  now->tv_nsec = shifted % 1000000000LL;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec precise;
  int failed = clock_gettime(CLOCK_REALTIME, &precise);
  if (!failed && now) {
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
  }
  return failed;
}

time_t time(time_t *to) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}

/* Valkey reads the wall clock only once a millisecond, and counts the processor's ticks in between, if the list of
   processors says that these are constant. Without that list it reads the clock each time. */
static FILE *opened(const char *name, const char *path, const char *mode) {
  if (offset && !strcmp(path, "/proc/cpuinfo")) {
    errno = ENOENT;
    return 0;
  }
  FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
  return real(path, mode);
}

FILE *fopen(const char *restrict path, const char *restrict mode) { return opened("fopen", path, mode); }

FILE *fopen64(const char *restrict path, const char *restrict mode) { return opened("fopen64", path, mode); }
