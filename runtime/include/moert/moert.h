/*===- moert.h - C API of the MoE-MLIR runtime ------------------------------===
 *
 * Loads .moe programs and runs them. Needs neither LLVM nor MLIR.
 *
 * Conventions. Every call that can fail returns a moe_status *: NULL is success, anything else describes the
 * error and is freed by the caller with moe_status_free. Output parameters are written only on success.
 * Handles are reference counted (X_retain, X_release; a new handle has one reference) and may be used from
 * several threads at once. Option structs begin with struct_size, which the caller sets to sizeof(struct).
 * No call prints, aborts or keeps a pointer to the caller's memory past its return unless it says so.
 *
 *===------------------------------------------------------------------------===*/
#ifndef MOERT_MOERT_H
#define MOERT_MOERT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MOE_API __attribute__((visibility("default")))
#else
#define MOE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct moe_status moe_status;
typedef struct moe_program moe_program;
typedef struct moe_session moe_session;
typedef struct moe_comm moe_comm;

typedef enum moe_code {
  MOE_OK = 0,
  MOE_INVALID_ARGUMENT = 1, /* an argument is NULL, out of range or of the wrong shape or type */
  MOE_BAD_PROGRAM = 2,      /* the .moe is truncated, altered or inconsistent */
  MOE_WRONG_VERSION = 3,    /* the .moe was written for another format version */
  MOE_WRONG_TARGET = 4,     /* the .moe was compiled for another chip or CPU */
  MOE_UNSUPPORTED = 5,      /* valid, but this runtime or device cannot do it */
  MOE_OUT_OF_MEMORY = 6,
  MOE_SYSTEM = 7, /* a call of the operating system or a driver failed; the message names it */
  MOE_COMM_FAILED =
      8 /* a rank is lost, too late, or disagrees; the message names it. The communicator is of no more use */
} moe_code;

/* "INVALID_ARGUMENT", ...; "?" for an unknown code. */
MOE_API const char *moe_code_name(moe_code code);

MOE_API moe_code moe_status_code(const moe_status *status);       /* MOE_OK for NULL */
MOE_API const char *moe_status_message(const moe_status *status); /* "" for NULL; owned by status */
MOE_API const char *moe_status_where(const moe_status *status);   /* file:line in the runtime; owned by status */
MOE_API void moe_status_free(moe_status *status);                 /* NULL is allowed */

typedef enum moe_dtype {
  MOE_F32 = 0,
  MOE_BF16 = 1,
  MOE_F16 = 2,
  MOE_I32 = 3,
  MOE_I64 = 4,
  MOE_I8 = 5,
  MOE_U8 = 6,
  MOE_I1 = 7
} moe_dtype;

/* Bytes of one element; 0 for an unknown type. */
MOE_API size_t moe_dtype_size(moe_dtype dtype);
/* "f32", "bf16", ...; "?" for an unknown type. */
MOE_API const char *moe_dtype_name(moe_dtype dtype);

/* The library's version, such as "0.1.0". */
MOE_API const char *moe_version(void);

/*--- programs ---------------------------------------------------------------*/

/* Checks the n bytes at blob (checksum, structure, every index) and copies them. Runs nothing from them. */
MOE_API moe_status *moe_program_load(const void *blob, size_t n, moe_program **program);
MOE_API moe_status *moe_program_load_file(const char *path, moe_program **program);
MOE_API void moe_program_retain(moe_program *program);
MOE_API void moe_program_release(moe_program *program);

MOE_API uint32_t moe_program_num_entries(const moe_program *program);
/* The target the program was compiled for, such as "cpu" and "x86-64-v3"; owned by program. */
MOE_API const char *moe_program_target(const moe_program *program);
MOE_API const char *moe_program_arch(const moe_program *program);

#define MOE_MAX_RANK 8

typedef struct moe_argument_info {
  const char *name; /* owned by the program */
  moe_dtype dtype;
  int32_t rank;
  int64_t dims[MOE_MAX_RANK]; /* -1: taken from the caller's buffer (inputs), follows from the inputs (outputs) */
  int32_t alias;              /* outputs: the input it may share memory with, or -1 */
} moe_argument_info;

enum {
  MOE_ENTRY_NEEDS_COMM = 1, /* moe_enqueue needs a communicator */
  MOE_ENTRY_HOST_SYNC = 2,  /* moe_enqueue waits for the device */
  MOE_ENTRY_CAPTURABLE = 4  /* moe_enqueue may run under CUDA graph capture */
};

typedef struct moe_entry_info {
  size_t struct_size;
  const char *name; /* owned by the program */
  uint32_t num_inputs, num_outputs;
  uint32_t flags;   /* MOE_ENTRY_* */
  uint32_t ranks;   /* of the communicator it needs; 0 if it needs none */
  const char *axis; /* the mesh axis that these are of, "" if none; owned by the program */
} moe_entry_info;

MOE_API moe_status *moe_program_entry(const moe_program *program, uint32_t entry, moe_entry_info *info);
/* Number of the entry of this name. */
MOE_API moe_status *moe_program_find(const moe_program *program, const char *name, uint32_t *entry);
MOE_API moe_status *moe_program_input(const moe_program *program, uint32_t entry, uint32_t i, moe_argument_info *info);
MOE_API moe_status *moe_program_output(const moe_program *program, uint32_t entry, uint32_t i, moe_argument_info *info);

/*--- buffers ----------------------------------------------------------------*/

/* A caller's tensor: memory at data, size_bytes long, of which element [i0, i1, ...] lies at byte
 * offset i0 * strides[0] + i1 * strides[1] + ...; strides NULL means row-major without padding.
 * data may be NULL only if the tensor has no elements. */
typedef struct moe_buffer {
  void *data;
  size_t size_bytes;
  moe_dtype dtype;
  int32_t rank;
  const int64_t *shape;   /* rank sizes */
  const int64_t *strides; /* rank byte strides, or NULL */
} moe_buffer;

/* Sizes of output i for these inputs: writes its rank values to shape (room for MOE_MAX_RANK). */
MOE_API moe_status *moe_output_shape(const moe_program *program, uint32_t entry, const moe_buffer *inputs,
                                     size_t num_inputs, uint32_t i, int64_t *shape);
/* Bytes and alignment of the workspace that moe_enqueue needs for these inputs. Only their shapes and types
 * are read; data may be NULL. */
MOE_API moe_status *moe_workspace_query(const moe_program *program, uint32_t entry, const moe_buffer *inputs,
                                        size_t num_inputs, size_t *bytes, size_t *align);

/*--- communicators: the ranks of a mesh axis --------------------------------------*/

/* A communicator belongs to one rank. Every rank runs the same exchanges in the same order, so one communicator serves
 * one enqueue at a time. No wait is longer than the time-out: a rank that is lost, late or disagrees on sizes is an
 * error that names it (MOE_COMM_FAILED), on every rank, and so is an error of one rank's enqueue. A communicator that
 * failed stays so; make a new one. */

typedef struct moe_comm_options {
  size_t struct_size;
  uint32_t timeout_ms; /* 0 = 30000 */
} moe_comm_options;

/* Ranks that are threads of this process, for the cpu target: writes size communicators, one for each rank, to comms.
 */
MOE_API moe_status *moe_comm_create_local(int32_t size, const moe_comm_options *options, moe_comm **comms);
/* Ranks that are processes, for the cpu target; they find each other in folder `store`, which is empty at first and
 * which all of them see, or, with "tcp://host:port", at this address of rank 0's host. Returns when all are there.
 * Needs libmoert-gloo.so. */
MOE_API moe_status *moe_comm_create_processes(const char *store, int32_t rank, int32_t size,
                                              const moe_comm_options *options, moe_comm **comm);

/* What a new communicator of GPUs is called: one rank makes it and gives it to the others. Needs NCCL 2.28 or newer,
 * which is opened at run time: $MOE_NCCL, one that the process has loaded already, or libnccl.so.2. */
#define MOE_COMM_ID_BYTES 128
MOE_API moe_status *moe_comm_unique_id(uint8_t id[MOE_COMM_ID_BYTES]);
/* Ranks that are GPUs, for the cuda target: this one is rank `rank` on device number `device`. Returns when all ranks
 * are there. If an exchange does not end in time on a device, the communicator is aborted. */
MOE_API moe_status *moe_comm_create_nccl(const uint8_t id[MOE_COMM_ID_BYTES], int32_t rank, int32_t size,
                                         int32_t device, const moe_comm_options *options, moe_comm **comm);
/* The same over a communicator (ncclComm_t) that the caller owns, and keeps for as long; it is never aborted. */
MOE_API moe_status *moe_comm_wrap_nccl(void *nccl_comm, const moe_comm_options *options, moe_comm **comm);

/* Memory that goes to or comes from one rank. */
typedef struct moe_piece {
  void *data;
  size_t bytes;
} moe_piece;

/* How a host of its own (an MPI program, a process group) moves the bytes, for the cpu target. */
typedef struct moe_transport {
  size_t struct_size;
  void *context; /* passed to every function */
  /* Sends send[r] to and receives receive[r] from every rank r, itself included, and returns 0 when both have happened,
   * within timeout_ms. Returns another number after it has written why, ended by a zero, to the error_bytes at error.
   */
  int (*exchange)(void *context, const moe_piece *send, const moe_piece *receive, uint32_t timeout_ms, char *error,
                  size_t error_bytes);
  void (*fail)(void *context, const char *message); /* tells the other ranks that this one cannot go on; may be NULL */
  void (*destroy)(void *context);                   /* when the communicator goes; may be NULL */
} moe_transport;

MOE_API moe_status *moe_comm_create_custom(const moe_transport *transport, int32_t rank, int32_t size,
                                           const moe_comm_options *options, moe_comm **comm);

MOE_API void moe_comm_retain(moe_comm *comm);
MOE_API void moe_comm_release(moe_comm *comm);
MOE_API int32_t moe_comm_rank(const moe_comm *comm); /* -1 for NULL */
MOE_API int32_t moe_comm_size(const moe_comm *comm); /* 0 for NULL */
/* Bytes that this rank has sent to another so far. Exchanges by kernels are counted by moe_enqueue_traced only. */
MOE_API moe_status *moe_comm_sent(const moe_comm *comm, int32_t peer, uint64_t *bytes);
/* How it has failed (MOE_COMM_FAILED), or NULL: for an exchange on a stream, which may fail after its enqueue. */
MOE_API moe_status *moe_comm_status(const moe_comm *comm);
/* Makes it fail on all ranks, with this message: for an error that no enqueue has seen. */
MOE_API void moe_comm_fail(moe_comm *comm, const char *message);

/*--- sessions ---------------------------------------------------------------*/

typedef struct moe_options {
  size_t struct_size;
  uint32_t num_threads;          /* cpu: worker threads; 0 = one for each core this process may use. cuda: must be 0 */
  const moe_session *threads_of; /* cpu: use the threads of this session, num_threads must be 0; NULL: own ones */
} moe_options;

/* Loads the kernels and constants of a program onto a device (cpu: device 0; cuda: number N of the driver, whose
 * primary context is retained). Refuses a program for another chip or CPU; MOE_UNSUPPORTED for a cuda program where
 * there is no CUDA driver or no GPU. options may be NULL. The session holds a reference to the program. */
MOE_API moe_status *moe_session_create(moe_program *program, int32_t device, const moe_options *options,
                                       moe_session **session);
MOE_API void moe_session_retain(moe_session *session);
MOE_API void moe_session_release(moe_session *session);

/* Compares what the ranks would exchange in an entry for these inputs, of which only shapes and types are read: how
 * often, rows of how many bytes, equal blocks of how many rows. Every rank calls it, as an exchange; if they disagree,
 * all get MOE_COMM_FAILED, which names a rank and the numbers. It waits for the stream. Over NCCL nothing else compares
 * them: ranks of other programs, or with blocks of other sizes, may hang there or mix rows.
 * Then gives the exchanges of the entry that kernels do (transport 'peer' on cuda) memory that all ranks reach, for
 * these inputs and all that need no more. The first moe_enqueue of an entry with a communicator does this too, so only
 * those need it who capture at once, or whose inputs grow; with another communicator it is made anew, and what was
 * captured before is not to run again. Any communicator will do if the entry has no other exchanges. Such an entry is
 * not to run twice at a time on a device. Nothing for entries without exchanges. */
MOE_API moe_status *moe_session_connect(moe_session *session, uint32_t entry, const moe_buffer *inputs,
                                        size_t num_inputs, moe_comm *comm, void *stream);

/* Runs an entry. Neither allocates nor synchronises on the device; on the cpu target it returns when the
 * outputs are written. workspace: as moe_workspace_query says, not shared with another enqueue in flight.
 * comm: for an entry that says MOE_ENTRY_NEEDS_COMM, else NULL; if the enqueue fails, so does the communicator, and
 * outputs may have been written. stream: NULL on the cpu target. On cuda, buffers and workspace are memory that the
 * device can use, stream is a CUstream (NULL: the legacy default stream), and the outputs are written when the stream
 * gets there; the stream may be capturing a graph if the entry says MOE_ENTRY_CAPTURABLE. What moe_buffers say is read
 * before the return. Enqueues of one session may run concurrently. On error nothing has been written. An output must
 * not overlap an input or another output; if the program says `alias`, it may be that input: the same address, shape
 * and strides. */
MOE_API moe_status *moe_enqueue(moe_session *session, uint32_t entry, const moe_buffer *inputs, size_t num_inputs,
                                const moe_buffer *outputs, size_t num_outputs, void *workspace, size_t workspace_bytes,
                                moe_comm *comm, void *stream);

/*--- traces: what each step of a run took --------------------------------------*/

typedef enum moe_step_kind {
  MOE_STEP_LAUNCH = 0,
  MOE_STEP_FILL = 1,
  MOE_STEP_COPY = 2,
  MOE_STEP_EXCHANGE = 3 /* bytes are those that went to other ranks, or -1 where only a kernel knows */
} moe_step_kind;

/* Times are in microseconds since the call. flops and bytes are what the step computes and moves at most for these
 * inputs, or -1 if the program does not say. */
typedef struct moe_step {
  size_t struct_size; /* of the library's struct */
  moe_step_kind kind;
  const char *name; /* of the kernel, owned by the program; "fill", "copy", "exchange", or "clear" for the first fill */
  double begin, end;           /* on the device */
  double host_begin, host_end; /* on the host, while it enqueued the step; on the cpu the same */
  int64_t flops, bytes;
  const int64_t *rows; /* of a step that finds them: the rows of each group */
  size_t num_groups;   /* 0 for other steps */
} moe_step;

typedef void (*moe_step_function)(void *user, const moe_step *step);

/* moe_enqueue that waits for the end of the run, and then calls report(user, step) for each step in order; what step
 * points at is gone afterwards. On cuda it allocates, and times the steps by events: the stream, which must not be
 * capturing, begins when the host has enqueued everything. */
MOE_API moe_status *moe_enqueue_traced(moe_session *session, uint32_t entry, const moe_buffer *inputs,
                                       size_t num_inputs, const moe_buffer *outputs, size_t num_outputs,
                                       void *workspace, size_t workspace_bytes, moe_comm *comm, void *stream,
                                       moe_step_function report, void *user);

/*--- faults: what the kernels saw in the data ---------------------------------*/

typedef enum moe_fault_kind {
  MOE_FAULT_BAD_SIZES =
      0, /* a group size is negative or the sizes exceed the rows; row = group, value = size, limit = rows left */
  MOE_FAULT_NAN_ROUTER = 1, /* a token has no finite router logit; row = token, value = 0, limit = experts */
  MOE_FAULT_BAD_ID = 2,     /* an expert id is outside -1..E-1; row = slot, value = id, limit = E */
  MOE_FAULT_OVERFLOW =
      3, /* slots beyond the capacity were dropped; row = first dropped slot, value = slots dropped, limit = capacity */
  MOE_NUM_FAULT_KINDS = 4
} moe_fault_kind;

typedef struct moe_fault {
  moe_fault_kind kind;
  int64_t count;             /* how often it was recorded */
  int64_t row, value, limit; /* of the record with the lowest row */
} moe_fault;

MOE_API const char *moe_fault_name(moe_fault_kind kind); /* "BAD_SIZES", ... ; "?" if unknown */

/* Faults of the last enqueue that used this workspace, at most MOE_NUM_FAULT_KINDS, in order of kind.
 * On cuda it copies them from the device, which waits for the legacy default stream alone: synchronise the stream of
 * the enqueue first. *n: on entry the room at faults, on return how many there are. Only the workspace's first bytes
 * are read. MOE_COMM_FAILED if an exchange by a kernel has failed. */
MOE_API moe_status *moe_session_poll(moe_session *session, const void *workspace, moe_fault *faults, size_t *n);

#ifdef __cplusplus
}
#endif
#endif /* MOERT_MOERT_H */
