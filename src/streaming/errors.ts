/** The protocol's own errors: they travel in the answer of a command, with HTTP status 200. */
export const ERROR_CODES = [
  "invalid_argument",
  "unknown_command",
  "unknown_error",
  "no_such_run",
  "no_such_subscription",
  "no_such_namespace",
  "no_such_interrupt",
  "no_such_checkpoint",
  "permission_denied",
  "not_supported",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The error of a command. Its code and message are in the answer. */
export class CommandError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
    this.name = "CommandError";
  }
}
