/** JSON-RPC errors as A2A has them. They travel as HTTP 200: some clients drop the body of anything else. */
import type { BodyFault } from "../../lib/problem.ts";
import type { A2aGeneration } from "./types.ts";

/** The codes of A2A itself, with the reason that 1.0 gives each. */
const REASONS: Record<number, string> = {
  [-32001]: "TASK_NOT_FOUND",
  [-32002]: "TASK_NOT_CANCELABLE",
  [-32003]: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  [-32004]: "UNSUPPORTED_OPERATION",
  [-32005]: "CONTENT_TYPE_NOT_SUPPORTED",
  [-32006]: "INVALID_AGENT_RESPONSE",
  [-32007]: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
  [-32008]: "EXTENSION_SUPPORT_REQUIRED",
  [-32009]: "VERSION_NOT_SUPPORTED",
};

/** What a JSON-RPC answer's `error` is made from; `faults` name each wrong parameter. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly faults: BodyFault[] = [],
  ) {
    super(message);
  }
}

export const parseError = () => new RpcError(-32700, "The body is not valid JSON.");
export const invalidRequest = (message: string) => new RpcError(-32600, message);
export const methodNotFound = () =>
  new RpcError(-32601, "No such method. See the agent card, and the A2A specification 0.3 or 1.0.");
export const invalidParams = (message: string, faults?: BodyFault[]) => new RpcError(-32602, message, faults);
export const INTERNAL_ERROR = -32603;
export const internalError = (message: string) => new RpcError(INTERNAL_ERROR, message);
/** The same for a task that does not exist and one that is not the caller's. */
export const taskNotFound = () => new RpcError(-32001, "Task not found.");
/** Both generations have this code for it. */
export const pushConfigNotFound = () =>
  new RpcError(-32001, "The task has no push notification configuration of this id.");
/** Neither generation has a code for it: a server's own. */
export const notAllowed = (message: string) => new RpcError(-32000, message);
export const notCancelable = (state: string) => new RpcError(-32002, `The task is ${state} and cannot be cancelled.`);
export const unsupported = (message: string) => new RpcError(-32004, message);
export const contentNotSupported = (message: string) => new RpcError(-32005, message);
export const extensionRequired = (uri: string) =>
  new RpcError(-32008, `This agent requires the extension ${uri}: name it in A2A-Extensions.`);
export const versionNotSupported = () =>
  new RpcError(-32009, "This A2A-Version is not supported. Supported are 0.3 and 1.0.");

/** The `error` member. 1.0 has typed details; 0.3 leaves them free. */
export function errorMember({ code, message, faults }: RpcError, generation: A2aGeneration) {
  if (generation === "0.3") return { code, message, ...(faults.length > 0 && { data: { errors: faults } }) };
  const details: object[] = [];
  const reason = REASONS[code];
  if (reason) {
    details.push({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" });
  }
  if (faults.length > 0) {
    const fieldViolations = faults.map(({ path, message }) => ({ field: path, description: message }));
    details.push({ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations });
  }
  return { code, message, ...(details.length > 0 && { data: details }) };
}
