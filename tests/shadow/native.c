/* Code that a superuser of the shadow could write into its directory and load: what it can reach, one line each. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static FILE *out;

static void tell(const char *what, long result) { fprintf(out, "%s %d\n", what, result < 0 ? errno : 0); }

static long connected(int family, const char *path) {
    struct sockaddr_un address = {.sun_family = family};
    strcpy(address.sun_path, path);
    int one = socket(family, SOCK_STREAM, 0);
    long result = one < 0 ? -1 : connect(one, (void *)&address, sizeof address);
    int kept = errno;
    close(one);
    errno = kept;
    return result;
}

static long executed(const char *program) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, (char *)0);
        _exit(errno);
    }
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static void try_files(const char *records) {
    struct stat seen;
    tell("stat", stat(records, &seen));
    tell("read", open(records, O_RDONLY));
    tell("write", open(records, O_WRONLY));
    tell("chmod", chmod(records, 0644));
    tell("chown", chown(records, -1, getgid()));
    tell("setxattr", setxattr(records, "user.x", "x", 1, 0));
    tell("truncate", truncate(records, 0));
    tell("rename", rename(records, "taken"));
}

static void try_others(int process, const char *sockets) {
    int pair[2];
    struct rlimit none = {0, 0};
    tell("signal", kill(process, 0));
    tell("limit", prlimit(process, RLIMIT_CORE, &none, 0));
    tell("pidfd", syscall(SYS_pidfd_open, process, 0));
    tell("unix", connected(AF_UNIX, sockets));
    tell("tcp", socket(AF_INET, SOCK_STREAM, 0));
    tell("udp", socket(AF_INET, SOCK_DGRAM, 0));
    tell("udp6", socket(AF_INET6, SOCK_DGRAM, 0));
    tell("netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    tell("datagram", socket(AF_UNIX, SOCK_DGRAM, 0));
    tell("pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    tell("execute", executed("/bin/true"));
    tell("memfd", syscall(SYS_memfd_create, "x", 0));
    tell("inotify", syscall(SYS_inotify_init1, 0));
}

__attribute__((constructor)) static void run(void) {
    pid_t child = fork();
    if (child != 0) {
        waitpid(child, 0, 0);
        return;
    }
    out = fopen("attempts", "w");
    try_others(PROCESS, SOCKET);
    try_files(RECORDS);
    tell("trace", ptrace(PTRACE_TRACEME, 0, 0, 0)); /* the last, because signals stop it from then on */
    fclose(out);
    _exit(0);
}
