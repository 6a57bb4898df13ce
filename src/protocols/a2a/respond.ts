/** Answers: JSON-RPC bodies, and streams of them. */
import { UNCOMPRESSED } from "../../http/middleware.ts";
import { toProblem } from "../../lib/problem.ts";
import { sseFrame, sseResponse } from "../../http/sse.ts";
import type { A2aCall } from "./call.ts";
import {
  errorMember,
  internalError,
  invalidParams,
  notAllowed,
  RpcError,
  taskNotFound,
  unsupported,
} from "./errors.ts";
import type { A2aGeneration } from "./types.ts";

type Id = string | number | null;

/** Any thrown value, as a JSON-RPC error. */
function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const { status, detail } = toProblem(error);
  if (status === 404) return taskNotFound();
  if (status === 403) return notAllowed(detail);
  if (status === 409) return unsupported(detail);
  return status < 500 ? invalidParams(detail) : internalError(detail);
}

export const success = (id: Id, result: unknown) => ({ jsonrpc: "2.0", id, result });
export const failure = (id: Id, error: unknown, generation: A2aGeneration) => ({
  jsonrpc: "2.0",
  id,
  error: errorMember(toRpcError(error), generation),
});

/** A comment, for a result that is not there yet. */
const WAITING = ": waiting\n\n";

/** Each result as an SSE event that is a whole JSON-RPC answer; undefined says that none is there yet. */
export function rpcStream(call: A2aCall, results: AsyncGenerator<unknown, void, void>): Response {
  return sseResponse(frames(call, results));
}

/** One JSON-RPC answer as a stream of one event. */
export function rpcEvent(body: object): Response {
  return sseResponse(
    (async function* () {
      yield sseFrame({ data: JSON.stringify(body) });
    })(),
  );
}

async function* frames({ envelope, generation }: A2aCall, results: AsyncGenerator<unknown, void, void>) {
  try {
    for await (const result of results)
      yield result === undefined ? WAITING : sseFrame({ data: JSON.stringify(success(envelope.id, result)) });
  } catch (error) {
    yield sseFrame({ data: JSON.stringify(failure(envelope.id, error, generation)) });
  }
}

/** After this many milliseconds a body begins, with white space, which JSON parsers skip. */
const PATIENCE_MS = 5_000;

/**
 * A JSON answer that may take long. Its head is sent when it is late, and then white space every few seconds, so that
 * neither the client nor a proxy closes an idle connection.
 */
export async function jsonWhenReady(answer: Promise<unknown>): Promise<Response> {
  const late = new Promise<"late">((resolve) => setTimeout(resolve, PATIENCE_MS, "late"));
  const first = await Promise.race([answer.then((body) => ({ body })), late]);
  if (first !== "late") return Response.json(first.body);
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      timer = setInterval(() => controller.enqueue(encoder.encode("\n")), PATIENCE_MS);
      controller.enqueue(encoder.encode(JSON.stringify(await answer)));
      clearInterval(timer);
      controller.close();
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(body, { headers: { "content-type": "application/json", ...UNCOMPRESSED } });
}
