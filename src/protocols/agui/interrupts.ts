/** Questions of a graph as AG-UI's interrupts, and the answers as what the graph resumes with. */
import { type Json, isObject } from "../../lib/json.ts";
import type { AguiResume } from "./schema.ts";

/** An interrupt from the log. */
export interface LoggedInterrupt {
  interrupt_id: string;
  payload: unknown;
}

/** The interrupt of a run that stopped at a breakpoint, without a question. */
export const BREAKPOINT = { id: "breakpoint", reason: "breakpoint", message: "The run stopped at a breakpoint." };

/**
 * `@ag-ui/langgraph`'s mapping: members of the question that the protocol defines keep their meaning; the whole is
 * metadata.
 */
export function toWireInterrupt({ interrupt_id, payload }: LoggedInterrupt): Json {
  const given = isObject(payload) ? payload : {};
  const text = (...names: string[]) => names.map((name) => given[name]).find((one) => typeof one === "string");
  const schema = given.responseSchema ?? given.response_schema;
  const message =
    typeof payload === "string" ? payload : (text("message", "question", "prompt") ?? describeRequests(given));
  const members = {
    message,
    toolCallId: text("toolCallId", "tool_call_id"),
    responseSchema: isObject(schema) ? schema : undefined,
    expiresAt: text("expiresAt", "expires_at"),
  };
  const known = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
  return {
    id: interrupt_id,
    reason: text("reason") ?? "langgraph:interrupt",
    ...known,
    metadata: { langgraph: { raw: payload ?? null } },
  };
}

/** What LangChain's human-in-the-loop middleware asks. */
function describeRequests({ action_requests }: Json): string | undefined {
  if (!Array.isArray(action_requests)) return undefined;
  const texts = action_requests.map((one: unknown) => (isObject(one) ? one.description : undefined));
  return texts.filter((one) => typeof one === "string").join("\n") || undefined;
}

/** By interrupt id. An abandoned one resumes with the mark that graphs written for `@ag-ui/langgraph` read. */
export function buildResume(answers: AguiResume[]): Json {
  return Object.fromEntries(
    answers.map(({ interruptId, status, payload }) => [
      interruptId,
      status === "resolved" ? (payload ?? null) : { __agui_cancelled__: true, interrupt_id: interruptId },
    ]),
  );
}
