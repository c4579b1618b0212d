/* What surrounds a process, made worse by a test: preloaded (LD_PRELOAD) into the real program.
 *
 * SURROUNDINGS names a directory. As long as the file `full` is in it, nothing more can be written below the directory
 * that SURROUNDED names: every call that would takes ENOSPC. `readonly` does the same with EROFS. The file `clock`
 * holds seconds that the time of day is wrong by.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int flagged(const char *flag)
{
    const char *directory = getenv("SURROUNDINGS");
    char path[PATH_MAX];
    if (directory == NULL) return 0;
    snprintf(path, sizeof path, "%s/%s", directory, flag);
    return access(path, F_OK) == 0;
}

static int refused(void)
{
    if (flagged("full")) return ENOSPC;
    if (flagged("readonly")) return EROFS;
    return 0;
}

static int below(const char *path)
{
    const char *directory = getenv("SURROUNDED");
    return directory != NULL && path != NULL && strncmp(path, directory, strlen(directory)) == 0;
}

static int handle_below(int handle)
{
    char link[64], path[PATH_MAX];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

#define REFUSE_HANDLE(handle)                                      \
    do {                                                           \
        int kept = errno, why = handle_below(handle) ? refused() : 0; \
        errno = kept;                                              \
        if (why) { errno = why; return -1; }                       \
    } while (0)

ssize_t write(int handle, const void *bytes, size_t count)
{
    REFUSE_HANDLE(handle);
    return REAL(write)(handle, bytes, count);
}

ssize_t pwrite(int handle, const void *bytes, size_t count, off_t offset)
{
    REFUSE_HANDLE(handle);
    return REAL(pwrite)(handle, bytes, count, offset);
}

ssize_t pwrite64(int handle, const void *bytes, size_t count, off64_t offset)
{
    REFUSE_HANDLE(handle);
    return REAL(pwrite64)(handle, bytes, count, offset);
}

ssize_t writev(int handle, const struct iovec *parts, int count)
{
    REFUSE_HANDLE(handle);
    return REAL(writev)(handle, parts, count);
}

int posix_fallocate(int handle, off_t offset, off_t length)
{
    int why = handle_below(handle) ? refused() : 0;
    return why ? why : REAL(posix_fallocate)(handle, offset, length);
}

int posix_fallocate64(int handle, off64_t offset, off64_t length)
{
    int why = handle_below(handle) ? refused() : 0;
    return why ? why : REAL(posix_fallocate64)(handle, offset, length);
}

/* A full disk makes no file; a read-only one opens none for writing. */
static int open_refused(const char *path, int flags)
{
    int writing = (flags & O_ACCMODE) != O_RDONLY;
    if (!below(path)) return 0;
    if ((flags & O_CREAT) && access(path, F_OK) != 0) return refused();
    return writing && flagged("readonly") ? EROFS : 0;
}

#define OPEN(name)                                          \
    int name(const char *path, int flags, ...)              \
    {                                                       \
        va_list more;                                       \
        mode_t mode;                                        \
        int kept = errno, why = open_refused(path, flags);  \
        errno = kept;                                       \
        va_start(more, flags);                              \
        mode = va_arg(more, mode_t);                        \
        va_end(more);                                       \
        if (why) { errno = why; return -1; }                \
        return REAL(name)(path, flags, mode);               \
    }

OPEN(open)
OPEN(open64)

int mkdir(const char *path, mode_t mode)
{
    int why = below(path) && access(path, F_OK) != 0 ? refused() : 0;
    if (why) { errno = why; return -1; }
    return REAL(mkdir)(path, mode);
}

static time_t wrong_by(void)
{
    const char *directory = getenv("SURROUNDINGS");
    char path[PATH_MAX], text[32] = "";
    int handle;
    ssize_t length;
    if (directory == NULL) return 0;
    snprintf(path, sizeof path, "%s/clock", directory);
    handle = REAL(open)(path, O_RDONLY);
    if (handle < 0) return 0;
    length = read(handle, text, sizeof text - 1);
    close(handle);
    return length > 0 ? (time_t)atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int kept = errno, answer = REAL(clock_gettime)(clock, now);
    if (answer == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += wrong_by();
        errno = kept;
    }
    return answer;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    int kept = errno, answer = REAL(gettimeofday)(now, zone);
    if (answer == 0) {
        now->tv_sec += wrong_by();
        errno = kept;
    }
    return answer;
}

time_t time(time_t *told)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told != NULL) *told = now.tv_sec;
    return now.tv_sec;
}
