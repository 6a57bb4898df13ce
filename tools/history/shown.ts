/** What the rules compare of a state: its messages' texts, and the side effects of the approval graph. */

export interface Shown {
  messages: { type: string; text: string; id?: string }[];
  /** The bodies of the "sent" emails. */
  sent: string[];
  /** The questions that wait. */
  interrupts: { id: string; about: string }[];
  /** The class of the error, when a run failed. */
  error?: string;
  /** False when the values are only a part of the state: an error, or questions. */
  whole: boolean;
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const toList = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Any text that this test sends: T<client>x<step> begins a run, A<client>x<step> answers a question. */
export const TEXTS = /\b[TA]\d+x\d+(?:x\d+)?\b/g;

export const textsIn = (text: string): string[] => text.match(TEXTS) ?? [];

function toText(content: unknown): string {
  if (typeof content === "string") return content;
  return toList(content)
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

const toQuestion = ({ id, value }: Json) => ({
  id: String(id),
  about: textsIn(JSON.stringify(value ?? null)).at(-1) ?? "",
});

/** `values` of a state, of an event or of an answer, with the `tasks` of the state. */
export function toShown(values: unknown, tasks?: unknown): Shown {
  const given = isObject(values) ? values : {};
  const { __interrupt__: asked, __error__: failure, messages, sent } = given;
  const questions = asked === undefined ? toList(tasks).flatMap((task) => toList(task.interrupts)) : toList(asked);
  return {
    messages: toList(messages).map(({ type, content, id }) => ({
      type: String(type),
      text: toText(content),
      ...(typeof id === "string" && { id }),
    })),
    sent: toList(sent).map(({ body }) => String(body)),
    interrupts: questions.map(toQuestion),
    ...(isObject(failure) && { error: String(failure.error) }),
    whole: asked === undefined && failure === undefined,
  };
}

/** The texts of the messages of one type, in order. */
export const listTexts = ({ messages }: Shown, type: string): string[] =>
  messages.filter((message) => message.type === type).flatMap(({ text }) => textsIn(text));

/** Whether two states have the same messages and side effects. */
export function sameState(a: Shown, b: Shown): boolean {
  return stateKey(a) === stateKey(b);
}

export const stateKey = ({ messages, sent }: Shown): string =>
  JSON.stringify([messages.map(({ type, text }) => [type, text]), sent]);

/** A state in a few words. */
export const lengths = ({ messages }: Shown): string =>
  `${messages.length} messages up to "${messages.at(-1)?.text.slice(0, 40)}"`;
