// Generated from runtime/proto/runtime.proto by scripts/generate-proto.ts; do not edit.

export type Stream =
  | "STREAM_UNSPECIFIED"
  | "STREAM_STDOUT"
  | "STREAM_STDERR";

export type Cause =
  | "CAUSE_UNSPECIFIED"
  | "CAUSE_EXITED"
  | "CAUSE_CANCELLED"
  | "CAUSE_TIMED_OUT"
  | "CAUSE_EXECUTOR_STOPPED"
  | "CAUSE_START_FAILED";

export type SessionState =
  | "SESSION_STATE_UNSPECIFIED"
  | "SESSION_STATE_REGISTERING"
  | "SESSION_STATE_READY"
  | "SESSION_STATE_CLOSING"
  | "SESSION_STATE_CLOSED"
  | "SESSION_STATE_FAILED";

export type FileType =
  | "FILE_TYPE_UNSPECIFIED"
  | "FILE_TYPE_FILE"
  | "FILE_TYPE_DIRECTORY"
  | "FILE_TYPE_SYMLINK"
  | "FILE_TYPE_OTHER";

export type FunctionState =
  | "FUNCTION_STATE_UNSPECIFIED"
  | "FUNCTION_STATE_REGISTERING"
  | "FUNCTION_STATE_READY"
  | "FUNCTION_STATE_DRAINING"
  | "FUNCTION_STATE_FAILED";

export interface ExecuteRequest {
  readonly runUid: string;
  readonly attempt: number;
  readonly bootId: string;
  readonly workingDir: string;
  readonly script: string;
  readonly interpreter: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly platformEnv: Readonly<Record<string, string>>;
}

export interface ExecuteResponse {
  readonly alreadyRunning: boolean;
}

export interface WatchRequest {
  readonly runUid: string;
  readonly attempt: number;
  readonly fromSeq: number;
}

export interface WatchResponse {
  readonly events: readonly ExecutionEvent[];
}

export interface ExecutionEvent {
  readonly seq: number;
  readonly timeMicros: number;
  readonly started?: Started | undefined;
  readonly output?: Output | undefined;
  readonly exited?: Exited | undefined;
}

export type Started = Readonly<Record<string, never>>;

export interface Output {
  readonly stream: Stream;
  readonly data: Uint8Array;
  readonly offset: number;
}

export interface Exited {
  readonly cause: Cause;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly outOfMemory: boolean;
  readonly leftoverProcesses: number;
  readonly message: string;
}

export interface AcknowledgeRequest {
  readonly runUid: string;
  readonly attempt: number;
  readonly seq: number;
}

export type AcknowledgeResponse = Readonly<Record<string, never>>;

export type ListRequest = Readonly<Record<string, never>>;

export interface ListResponse {
  readonly executions: readonly ExecutionSummary[];
}

export interface ExecutionSummary {
  readonly runUid: string;
  readonly attempt: number;
  readonly startTimeMicros: number;
  readonly lastSeq: number;
  readonly exited?: Exited | undefined;
  readonly exitTimeMicros: number;
}

export interface CancelRequest {
  readonly runUid: string;
  readonly attempt: number;
  readonly graceMilliseconds: number;
  readonly cause: Cause;
}

export type CancelResponse = Readonly<Record<string, never>>;

export interface ForgetRequest {
  readonly runUid: string;
  readonly attempt: number;
}

export type ForgetResponse = Readonly<Record<string, never>>;

export type HealthRequest = Readonly<Record<string, never>>;

export interface HealthResponse {
  readonly healthy: boolean;
  readonly message: string;
  readonly bootId: string;
  readonly bootTimeMicros: number;
}

export interface SessionRef {
  readonly runUid: string;
  readonly assignedPodUid: string;
}

export interface SessionRequest {
  readonly session?: SessionRef | undefined;
}

export interface RegisterSessionRequest {
  readonly session?: SessionRef | undefined;
  readonly bootId: string;
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly platformEnv: Readonly<Record<string, string>>;
  readonly leaseTimeoutMilliseconds: number;
  readonly queueSize: number;
  readonly operationTimeoutMilliseconds: number;
}

export interface SessionStatus {
  readonly session?: SessionRef | undefined;
  readonly state: SessionState;
  readonly message: string;
  readonly queuedOperations: number;
  readonly leaseExpiresMicros: number;
}

export interface SessionOperationRequest {
  readonly session?: SessionRef | undefined;
  readonly idempotencyKey: string;
  readonly afterSeq: number;
  readonly command?: SessionCommand | undefined;
  readonly writeFile?: WriteSessionFile | undefined;
  readonly createDirectory?: CreateSessionDirectory | undefined;
  readonly deletePath?: DeleteSessionPath | undefined;
  readonly renamePath?: RenameSessionPath | undefined;
}

export interface SessionCommand {
  readonly argv: readonly string[];
  readonly shell: string;
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: Uint8Array;
  readonly timeoutMilliseconds: number;
}

export interface WriteSessionFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
}

export interface CreateSessionDirectory {
  readonly path: string;
}

export interface DeleteSessionPath {
  readonly path: string;
  readonly recursive: boolean;
}

export interface RenameSessionPath {
  readonly from: string;
  readonly to: string;
}

export interface SessionOperationEvent {
  readonly seq: number;
  readonly timeMicros: number;
  readonly accepted?: SessionOperationAccepted | undefined;
  readonly output?: Output | undefined;
  readonly progress?: SessionOperationProgress | undefined;
  readonly completed?: SessionOperationCompleted | undefined;
  readonly failed?: SessionOperationFailed | undefined;
}

export interface SessionOperationAccepted {
  readonly operationId: string;
}

export interface SessionOperationProgress {
  readonly status?: string | undefined;
  readonly textDelta?: string | undefined;
  readonly toolCallStarted?: string | undefined;
  readonly toolCallFinished?: string | undefined;
}

export interface SessionOperationCompleted {
  readonly exitCode: number;
  readonly durationMilliseconds: number;
}

export interface SessionOperationFailed {
  readonly message: string;
  readonly timedOut: boolean;
  readonly durationMilliseconds: number;
}

export interface ReadSessionFileRequest {
  readonly session?: SessionRef | undefined;
  readonly path: string;
  readonly offset: number;
  readonly limitBytes: number;
}

export interface ReadSessionFileResponse {
  readonly content: Uint8Array;
  readonly sizeBytes: number;
  readonly endOfFile: boolean;
}

export interface ListSessionFilesRequest {
  readonly session?: SessionRef | undefined;
  readonly path: string;
  readonly pageSize: number;
  readonly cursor: string;
}

export interface SessionFile {
  readonly name: string;
  readonly type: FileType;
  readonly sizeBytes: number;
  readonly mode: number;
  readonly modifiedMicros: number;
}

export interface ListSessionFilesResponse {
  readonly files: readonly SessionFile[];
  readonly nextCursor: string;
}

export interface CloseSessionRequest {
  readonly session?: SessionRef | undefined;
  readonly drainTimeoutMilliseconds: number;
}

export interface FunctionRef {
  readonly runUid: string;
  readonly registrationId: string;
}

export interface RegisterFunctionRequest {
  readonly runUid: string;
  readonly registrationAttempt: number;
  readonly bootId: string;
  readonly workingDir: string;
  readonly handler: string;
  readonly env: Readonly<Record<string, string>>;
  readonly platformEnv: Readonly<Record<string, string>>;
  readonly idleTimeoutMilliseconds: number;
  readonly registrationDigest: string;
}

export interface FunctionRegistration {
  readonly function?: FunctionRef | undefined;
  readonly state: FunctionState;
}

export interface FunctionStatusRequest {
  readonly function?: FunctionRef | undefined;
}

export interface FunctionStatusResponse {
  readonly state: FunctionState;
  readonly inFlight: number;
  readonly lastActivityMicros: number;
  readonly fatalError: string;
}

export interface InvokeFunctionRequest {
  readonly function?: FunctionRef | undefined;
  readonly invocationId: string;
  readonly input: Uint8Array;
  readonly contentType: string;
  readonly timeoutMilliseconds: number;
}

export interface InvokeFunctionResponse {
  readonly output: Uint8Array;
  readonly contentType: string;
  readonly outputs: Readonly<Record<string, string>>;
}

export interface UnregisterFunctionRequest {
  readonly function?: FunctionRef | undefined;
  readonly cancelInFlight: boolean;
  readonly drainTimeoutMilliseconds: number;
}

export type UnregisterFunctionResponse = Readonly<Record<string, never>>;

/** Every message by its name. */
export interface Messages {
  readonly ExecuteRequest: ExecuteRequest;
  readonly ExecuteResponse: ExecuteResponse;
  readonly WatchRequest: WatchRequest;
  readonly WatchResponse: WatchResponse;
  readonly ExecutionEvent: ExecutionEvent;
  readonly Started: Started;
  readonly Output: Output;
  readonly Exited: Exited;
  readonly AcknowledgeRequest: AcknowledgeRequest;
  readonly AcknowledgeResponse: AcknowledgeResponse;
  readonly ListRequest: ListRequest;
  readonly ListResponse: ListResponse;
  readonly ExecutionSummary: ExecutionSummary;
  readonly CancelRequest: CancelRequest;
  readonly CancelResponse: CancelResponse;
  readonly ForgetRequest: ForgetRequest;
  readonly ForgetResponse: ForgetResponse;
  readonly HealthRequest: HealthRequest;
  readonly HealthResponse: HealthResponse;
  readonly SessionRef: SessionRef;
  readonly SessionRequest: SessionRequest;
  readonly RegisterSessionRequest: RegisterSessionRequest;
  readonly SessionStatus: SessionStatus;
  readonly SessionOperationRequest: SessionOperationRequest;
  readonly SessionCommand: SessionCommand;
  readonly WriteSessionFile: WriteSessionFile;
  readonly CreateSessionDirectory: CreateSessionDirectory;
  readonly DeleteSessionPath: DeleteSessionPath;
  readonly RenameSessionPath: RenameSessionPath;
  readonly SessionOperationEvent: SessionOperationEvent;
  readonly SessionOperationAccepted: SessionOperationAccepted;
  readonly SessionOperationProgress: SessionOperationProgress;
  readonly SessionOperationCompleted: SessionOperationCompleted;
  readonly SessionOperationFailed: SessionOperationFailed;
  readonly ReadSessionFileRequest: ReadSessionFileRequest;
  readonly ReadSessionFileResponse: ReadSessionFileResponse;
  readonly ListSessionFilesRequest: ListSessionFilesRequest;
  readonly SessionFile: SessionFile;
  readonly ListSessionFilesResponse: ListSessionFilesResponse;
  readonly CloseSessionRequest: CloseSessionRequest;
  readonly FunctionRef: FunctionRef;
  readonly RegisterFunctionRequest: RegisterFunctionRequest;
  readonly FunctionRegistration: FunctionRegistration;
  readonly FunctionStatusRequest: FunctionStatusRequest;
  readonly FunctionStatusResponse: FunctionStatusResponse;
  readonly InvokeFunctionRequest: InvokeFunctionRequest;
  readonly InvokeFunctionResponse: InvokeFunctionResponse;
  readonly UnregisterFunctionRequest: UnregisterFunctionRequest;
  readonly UnregisterFunctionResponse: UnregisterFunctionResponse;
}
