/** A request to a receiver, made when its effect is carried out, or before what it is made from is deleted. */
import { addressFault } from "../http/addresses.ts";
import { readWithin } from "../lib/bytes.ts";
import { logError } from "../lib/log.ts";
import { callApp } from "../http/loopback.ts";
import { signedHeaders } from "../webhooks/sign.ts";
import type { AskedByCall } from "../threads/answering.ts";
import { actsFor, type Acting } from "../http/loopback.ts";

export const REQUEST_TIMEOUT_MS = 20_000;

/** By kind of an effect that reads the thread when it is carried out: the kind of the call that it becomes. */
export const CALL_OF: Record<string, string> = { webhook: "webhook-call", "task-hook": "task-call" };

export interface Call {
  url: string;
  /** A path of the project's own `app`, called in this server in place of the address, and who calls it. */
  own?: { path: string; by: Acting };
  /** The id of the delivery: the same at every attempt. */
  delivery: string;
  headers: Record<string, string>;
  /** A JSON object. */
  body: string;
  /** The member of the body that says when it is sent. Each attempt adds it. */
  stamp?: string;
  /** The questions that the receiver may answer. */
  asked?: AskedByCall;
}

/** Bytes of a receiver's answer that are read. A longer one answers nothing. */
const ANSWER_LIMIT = 64 * 1024;

/** The call as text. JSON has no raw line break; a body within JSON would be escaped, and megabytes would be copied. */
export function packCall({ body, ...head }: Call): string {
  return `${JSON.stringify(head)}\n${body}`;
}

export function unpackCall(text: string): Call {
  const end = text.indexOf("\n");
  return { ...(JSON.parse(text.slice(0, end)) as Omit<Call, "body">), body: text.slice(end + 1) };
}

/** Code of the project may continue after the signal. Other calls do not wait for it. */
async function withinTime<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("The receiver did not answer in time.")));
  });
  return Promise.race([answer, late]);
}

/** The address of a receiver was allowed when it was set, and no longer is. Another attempt changes nothing. */
export class AddressRefused extends Error {}

/**
 * Signs the call with the secrets of the workspace and sends it.
 * Of a call that asks, gives what the receiver answers as JSON.
 * @throws AddressRefused, and an error when the receiver does not answer with a 2xx status
 */
export async function sendCall(env: Env, workspaceId: string, call: Call): Promise<string | undefined> {
  const { url, own, delivery, stamp } = call;
  const fault = own ? undefined : addressFault(url, env.ALLOW_PRIVATE_ADDRESSES === "true");
  if (fault) throw new AddressRefused(`The address of the receiver ${fault}.`);
  const body = stamp ? `${call.body.slice(0, -1)},"${stamp}":"${new Date().toISOString()}"}` : call.body;
  const headers = { ...call.headers, ...(await signedHeaders(env, workspaceId, { delivery, body })) };
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const init: RequestInit = { method: "POST", headers, body, redirect: "manual", signal };
  const response = await (own
    ? withinTime(callApp(actsFor(env, workspaceId, own.by), own.path, init), signal)
    : fetch(url, init));
  const isRead = response.ok && call.asked && /^application\/json\b/i.test(response.headers.get("content-type") ?? "");
  // The call has been delivered, also when its answer cannot be read.
  if (isRead) {
    const answer = await readWithin(response, ANSWER_LIMIT, signal).catch(() => undefined);
    return answer && new TextDecoder().decode(answer);
  }
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The receiver answered ${response.status}.`);
  return undefined;
}

/** The same, for effects without a caller that reads the result: a call whose address is refused is logged and dropped. */
export async function sendOrDrop(env: Env, workspaceId: string, call: Call): Promise<string | undefined> {
  try {
    return await sendCall(env, workspaceId, call);
  } catch (error) {
    if (!(error instanceof AddressRefused)) throw error;
    logError(`The call of a receiver is dropped. ${error.message}`, { delivery: call.delivery });
    return undefined;
  }
}
