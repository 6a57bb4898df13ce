import * as v from "valibot";
import { Id, Time, choosing, Uuid } from "../../../http/shapes.ts";
import { isVisibleName } from "../../../access/oauth/schema.ts";
import { describeResponse } from "../responses.ts";
import type { InterruptLink, AcceptedResponse, LinkState as Standing } from "../../types.ts";

/** Seconds. */
const DAY = 86_400;
const LIFE = { least: 60, usual: DAY, most: 30 * DAY };
/** Characters of JSON of the answers that a link accepts. */
const MAX_RESPONSES = 16_000;

const InterruptId = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
export const InterruptParam = v.object({ thread_id: Uuid, interrupt_id: InterruptId });
export const LinkParam = v.object({ thread_id: Uuid, interrupt_id: InterruptId, link_id: Uuid });

export const CreateLink = choosing({
  expires_in: v.pipe(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(LIFE.least), v.maxValue(LIFE.most)), LIFE.usual),
    v.description("Seconds"),
  ),
  name: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.minLength(1),
      v.maxLength(100),
      v.check(isVisibleName, "must be a text that people can see"),
      v.description("For whom the link is: it is shown as who has answered"),
    ),
  ),
  answers: v.optional(
    v.pipe(
      v.array(v.unknown()),
      v.minLength(1),
      v.maxLength(20),
      v.check((list) => JSON.stringify(list).length <= MAX_RESPONSES, `at most ${MAX_RESPONSES} characters of JSON`),
      v.description("The answers that the link accepts; for actions to review, types of decision"),
    ),
  ),
});

export const TokenParam = v.object({ token: v.pipe(v.string(), v.maxLength(2_000)) });
export const ResponseBody = choosing({ answer: v.unknown() });

const WireChannel = v.picklist(["api", "console", "link", "webhook", "mcp", "a2a", "agui", "cron", "run"]);
/** Which answer was the first, and when. */
const WireResponse = v.object({ via: WireChannel, name: v.optional(v.string()), at: Time });
const LinkStateName = v.picklist(["waits", "answered", "gone"]);

const link = {
  link_id: Id,
  interrupt_id: v.string(),
  name: v.optional(v.string()),
  answers: v.optional(v.array(v.unknown())),
  expires_at: Time,
};
export const CreatedLink = v.pipe(v.object({ ...link, url: v.string() }), v.title("InterruptLink"));
export const ListedLink = v.pipe(
  v.object({ ...link, created_at: Time, state: LinkStateName, answered: v.optional(WireResponse) }),
  v.title("ListedInterruptLink"),
);

/** What the holder of a link sees as JSON. */
export const LinkedInterrupt = v.pipe(
  v.object({
    state: LinkStateName,
    interrupt_id: v.string(),
    expires_at: Time,
    name: v.optional(v.string()),
    agent: v.optional(v.string()),
    value: v.optional(v.unknown()),
    answers: v.optional(v.array(v.unknown())),
    answered: v.optional(WireResponse),
  }),
  v.title("AskedQuestion"),
);
export const AcceptedBody = v.object({ run_id: Id });
/** A problem that says who was first. */
export const EarlierResponse = v.object({
  type: v.string(),
  title: v.string(),
  status: v.literal(409),
  detail: v.string(),
  message: v.string(),
  answered: WireResponse,
});

// Links and questions as they are answered.

const toIso = (at: number): string => new Date(at).toISOString();

export function toWireLink({ link_id, interrupt_id, name, answers, expires }: InterruptLink) {
  return { link_id, interrupt_id, name, answers, expires_at: toIso(expires) };
}

const toWireResponse = ({ via, name, at }: AcceptedResponse) => ({ via, name, at: toIso(at) });

export function toWireListedLink(linkState: Standing): v.InferOutput<typeof ListedLink> {
  const { link, state } = linkState;
  const answered = state === "answered" ? toWireResponse(linkState.first) : undefined;
  return { ...toWireLink(link), created_at: toIso(link.created), state, answered };
}

/** Without ids of the thread or of credentials: the holder of a link has no account. */
export function toWireLinkedInterrupt(linkState: Standing): v.InferOutput<typeof LinkedInterrupt> {
  const { link_id: _, ...link } = toWireLink(linkState.link);
  if (linkState.state === "answered") return { ...link, state: "answered", answered: toWireResponse(linkState.first) };
  if (linkState.state === "gone") return { ...link, state: "gone" };
  return { ...link, state: "waits", agent: linkState.graph_id, value: linkState.value };
}

export function toWireEarlierResponse(first: AcceptedResponse): v.InferOutput<typeof EarlierResponse> {
  const detail = `The question accepts one answer. ${describeResponse(first)}`;
  const problem = {
    type: "about:blank",
    title: "Conflict",
    status: 409 as const,
    detail,
    message: `HTTP 409: ${detail}`,
  };
  return { ...problem, answered: toWireResponse(first) };
}
