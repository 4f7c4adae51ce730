// What a sandboxed worker needs of the system and Swift cannot say: raw system calls, BPF, descriptors passed
// over a socket, and a process that starts with nothing of its parent's but that socket. Elsewhere than on
// Linux all of it answers that it cannot be had.
#ifndef CALOTYPE_CSANDBOX_H
#define CALOTYPE_CSANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: Locking down

// The parts of the sandbox. One holds where its error is 0.
typedef enum calotype_sandbox_layer {
  // No new privileges, no capabilities, no dumping, death with the parent.
  CALOTYPE_SANDBOX_PRIVILEGES = 0,
  // Memory, files, processes, cores, processor time.
  CALOTYPE_SANDBOX_LIMITS,
  // No file system and, where the kernel can, no network and no signals to others.
  CALOTYPE_SANDBOX_LANDLOCK,
  // A filter that lets a few system calls through and ends the process for any other.
  CALOTYPE_SANDBOX_SECCOMP,
  CALOTYPE_SANDBOX_LAYER_COUNT,
} calotype_sandbox_layer;

// Besides the system's numbers, errors are:
enum {
  // The build has a sanitizer, which needs calls that the filter forbids.
  CALOTYPE_SANDBOX_SANITIZER = -1,
  // Other threads run, which landlock would leave free.
  CALOTYPE_SANDBOX_THREADS = -2,
  // There is no filter for this processor.
  CALOTYPE_SANDBOX_PROCESSOR = -3,
  // It was not asked for.
  CALOTYPE_SANDBOX_NOT_ASKED = -4,
};

// Locks this process down for good. `layers` has a bit for each layer that is wanted; `errors` gets one value
// a layer.
void calotype_sandbox_enter(
  uint64_t memory_limit, uint64_t processor_seconds, uint32_t layers,
  int32_t errors[CALOTYPE_SANDBOX_LAYER_COUNT]);

// The processors that there is a filter of system calls for.
typedef enum calotype_sandbox_processor {
  CALOTYPE_SANDBOX_X86_64,
  CALOTYPE_SANDBOX_ARM64,
} calotype_sandbox_processor;

// A step of a filter: the kernel's `struct sock_filter`.
typedef struct calotype_filter_step {
  uint16_t code;
  uint8_t if_true, if_false;
  uint32_t value;
} calotype_filter_step;

enum { CALOTYPE_SANDBOX_MOST_STEPS = 256 };

// Makes the filter of a processor for the process `own`. Answers how many steps it has; no more than `capacity`
// are written.
size_t calotype_sandbox_filter(
  calotype_sandbox_processor processor, uint32_t own, calotype_filter_step *steps, size_t capacity);

// Whether this build has a sanitizer.
bool calotype_sandbox_has_sanitizer(void);

// MARK: Processes

// Starts a program whose only descriptors are /dev/null as 0 to 2 and one end of a new socket as 3: signals
// are at their defaults, none is blocked, and the terminal's do not reach it. Answers 0 or an error's number.
// `handle` names the process even after its number has gone to another, or is -1 on old kernels.
int calotype_worker_spawn(
  const char *path, char *const arguments[], char *const environment[], int *connection, pid_t *process,
  int *handle);

// Ends a process by SIGKILL.
void calotype_worker_kill(pid_t process, int handle);

// Waits until a process has ended, but not longer than that. Answers whether it has.
bool calotype_worker_await_end(int handle, int milliseconds);

// Whether a process of this one's own has been stopped and not continued.
bool calotype_worker_is_stopped(pid_t process);

// MARK: Messages and shared memory

// Sends one message, with a descriptor where `descriptor` is not negative. Answers 0 or an error's number.
int calotype_socket_send(int connection, const void *bytes, size_t count, int descriptor);

// Receives one message: its length, 0 at the end of the connection, or an error's number, negated. A
// descriptor that comes along goes to `descriptor`, or nowhere where that is NULL.
ssize_t calotype_socket_receive(int connection, void *bytes, size_t capacity, int *descriptor);

// How long a receive waits before it answers -EAGAIN, and a send before it answers EAGAIN.
int calotype_socket_set_patience(int connection, uint32_t microseconds);

// Memory that processes share: neither side can make it smaller under the other. Answers a descriptor, or an
// error's number, negated.
int calotype_shared_memory_create(size_t count);

// Maps shared memory with all of its pages there; MAP_FAILED where it cannot be had.
void *calotype_shared_memory_map(int descriptor, size_t count, bool is_writable);

// A flag in shared memory.
void calotype_shared_flag_set(void *flag, uint32_t value);
uint32_t calotype_shared_flag_get(const void *flag);

#endif
