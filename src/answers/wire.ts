/** Links and questions as they are answered. */
import type * as v from "valibot";
import { describeFirst } from "../threads/interrupts/responses.ts";
import type { AnswerLink, FirstAnswer, Standing } from "../threads/answering.ts";
import type { AnsweredBefore, AskedQuestion, ListedLink } from "../threads/interrupts/links/schema.ts";

const toIso = (at: number): string => new Date(at).toISOString();

export function linkOnWire({ link_id, interrupt_id, name, answers, expires }: AnswerLink) {
  return { link_id, interrupt_id, name, answers, expires_at: toIso(expires) };
}

const firstOnWire = ({ via, name, at }: FirstAnswer) => ({ via, name, at: toIso(at) });

export function listedOnWire(standing: Standing): v.InferOutput<typeof ListedLink> {
  const { link, state } = standing;
  const answered = state === "answered" ? firstOnWire(standing.first) : undefined;
  return { ...linkOnWire(link), created_at: toIso(link.created), state, answered };
}

/** Without ids of the thread or of credentials: the holder of a link has no account. */
export function askedOnWire(standing: Standing): v.InferOutput<typeof AskedQuestion> {
  const { link_id: _, ...link } = linkOnWire(standing.link);
  if (standing.state === "answered") return { ...link, state: "answered", answered: firstOnWire(standing.first) };
  if (standing.state === "gone") return { ...link, state: "gone" };
  return { ...link, state: "waits", agent: standing.graph_id, value: standing.value };
}

export function answeredBefore(first: FirstAnswer): v.InferOutput<typeof AnsweredBefore> {
  const detail = `The question accepts one answer. ${describeFirst(first)}`;
  const problem = {
    type: "about:blank",
    title: "Conflict",
    status: 409 as const,
    detail,
    message: `HTTP 409: ${detail}`,
  };
  return { ...problem, answered: firstOnWire(first) };
}
