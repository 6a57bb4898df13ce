/** What people answer to an interrupt, from the several shapes that clients send, to one. */

/** A decision about one proposed action, as Agent Chat UIs and LangChain's human-in-the-loop middleware name them. */
export type Decision =
  | { type: "approve" }
  | { type: "edit"; edited_action: { name: string; args: Record<string, unknown> } }
  | { type: "reject"; message: string }
  | { type: "respond"; message: string };

const YES = /^\s*(y|yes|ok|okay|true|approved?|accept(ed)?|confirm(ed)?|send( it)?)[.!]?\s*$/i;
const NO = /^\s*(n|no|false|reject(ed)?|den(y|ied)|cancel|ignore|stop|don'?t)[.!]?\s*$/i;
const DECLINED = "The person declined.";
const UNCLEAR = "The answer was not understood, so nothing was done.";

/**
 * One decision for each of `count` actions. Takes `{decisions: [...]}`, a list, or one answer for all; each answer may be
 * a decision, an older `{type: "accept" | "ignore" | "response" | "edit", args}`, true or false, yes or no, `{ok: true}`,
 * or free text, which is a response. What is not understood is a rejection: silence never sends.
 */
export function decisionsFrom(resume: unknown, count: number): Decision[] {
  const listed = isObject(resume) && Array.isArray(resume.decisions) ? resume.decisions : resume;
  const answers: unknown[] = Array.isArray(listed) ? listed : Array.from({ length: count }, () => listed);
  return Array.from({ length: count }, (_, index) => decision(answers[index]));
}

function decision(answer: unknown): Decision {
  if (typeof answer === "boolean") return verdict(answer);
  if (typeof answer === "string") {
    if (YES.test(answer)) return verdict(true);
    return NO.test(answer) ? verdict(false) : { type: "respond", message: answer };
  }
  if (!isObject(answer)) return { type: "reject", message: UNCLEAR };
  const { type, message, args } = answer;
  const words = typeof message === "string" ? message : typeof args === "string" ? args : "";
  switch (type) {
    case "approve":
    case "accept":
      return { type: "approve" };
    case "reject":
    case "ignore":
      return { type: "reject", message: words || DECLINED };
    case "respond":
    case "response":
      return { type: "respond", message: words };
    case "edit":
      return edit(answer.edited_action) ?? edit(args) ?? { type: "reject", message: UNCLEAR };
    default: {
      const flag = answer.ok ?? answer.approved ?? answer.approve;
      return typeof flag === "boolean" ? verdict(flag) : { type: "reject", message: UNCLEAR };
    }
  }
}

function verdict(yes: boolean): Decision {
  return yes ? { type: "approve" } : { type: "reject", message: DECLINED };
}

function edit(action: unknown): Decision | undefined {
  if (!isObject(action) || !isObject(action.args)) return undefined;
  const name = action.name ?? action.action;
  return { type: "edit", edited_action: { name: typeof name === "string" ? name : "", args: action.args } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
