/** A client's messages beside those of its thread: what the client has added or changed, and what it only repeats. */
import { type Json, isObject } from "../../lib/json.ts";
import { isEqual } from "./events.ts";
import { contentOf, graphMessage } from "./messages.ts";
import type { AguiMessage } from "./schema.ts";

const SPOKEN = ["user", "assistant", "tool"];

const callsIn = ({ tool_calls }: Json): string[] =>
  Array.isArray(tool_calls) ? tool_calls.filter(isObject).map(({ id }) => String(id)) : [];

/** The ids of what a person, an agent or a tool has said. */
export const spokenIds = (messages: readonly AguiMessage[]): string[] =>
  messages.filter(({ role }) => SPOKEN.includes(role)).map(({ id }) => id);

export class Conversation {
  /** The thread's messages by their ids, and its results of tools by their calls. */
  readonly #known: Map<unknown, Json>;
  readonly #results: Map<unknown, Json>;
  readonly #list: Json[];

  constructor(
    private readonly messages: readonly AguiMessage[],
    known: unknown,
  ) {
    this.#list = Array.isArray(known) ? known.filter(isObject) : [];
    this.#known = new Map(this.#list.map((one) => [one.id, one]));
    const results = this.#list.filter(({ type }) => type === "tool");
    this.#results = new Map(results.map((one) => [one.tool_call_id, one]));
  }

  /** Whether the thread's message of the id is the client's, as both are shown. */
  static isSame(message: AguiMessage, known: Json): boolean {
    return isEqual(contentOf(graphMessage(message) ?? {}), contentOf(known));
  }

  /** Whether the thread has the message, or the result of a tool under another id: CopilotKit gives results ids of its own. */
  has({ id, role, toolCallId }: AguiMessage): boolean {
    return this.#known.has(id) || (role === "tool" && this.#results.has(toolCallId));
  }

  /** The client's own part: messages of the person, and results of tools that the thread does not have. */
  get asked(): AguiMessage[] {
    return this.#added().filter((one) => one.role === "user" || (one.role === "tool" && !this.has(one)));
  }

  /** Whether the client says something that the thread does not have. */
  get isNew(): boolean {
    const said = this.lastAsked ? this.asked : this.messages.filter(({ role }) => SPOKEN.includes(role));
    return said.some((one) => !this.has(one));
  }

  /** The last message of a person, an agent or a tool. */
  get last(): AguiMessage | undefined {
    return this.messages.findLast(({ role }) => SPOKEN.includes(role));
  }

  get lastAsked(): AguiMessage | undefined {
    return this.messages.findLast(({ role }) => role === "user");
  }

  get isAnswered(): boolean {
    return this.lastAsked !== undefined && this.isFollowed(this.lastAsked);
  }

  /** Whether something follows the message in the thread. */
  isFollowed(message: AguiMessage): boolean {
    const place = this.#list.findIndex(({ id }) => id === message.id);
    return place >= 0 && this.#list.slice(place + 1).some(({ type }) => type !== "system");
  }

  /** Messages of the person whose content the thread has otherwise. */
  get changed(): AguiMessage[] {
    return this.messages.filter((one) => {
      const known = one.role === "user" ? this.#known.get(one.id) : undefined;
      return known !== undefined && !Conversation.isSame(one, known);
    });
  }

  /** Whether the client lacks something of the thread's messages, or has one that is not whole. */
  get isBehind(): boolean {
    const sent = new Map(this.messages.map((one) => [one.id, one]));
    return this.#list.some((one) => {
      const message = one.type === "system" ? undefined : sent.get(String(one.id));
      return one.type !== "system" && (!message || !Conversation.isSame(message, one));
    });
  }

  /** Instructions that the thread does not have. */
  instructions(): Json[] {
    return toGraph(this.messages.filter((one) => !SPOKEN.includes(one.role) && !this.has(one)));
  }

  /** The messages that the thread does not have. What a client has of an answer that the thread has otherwise is left out. */
  fresh(): Json[] {
    const added = this.#added().filter((one) => !this.has(one));
    return toGraph(added.flatMap((one) => this.#withAnsweredCalls(one)));
  }

  /** The conversation from a changed message on, as its branch begins: the client's, with the thread's version of what an agent said. */
  from(message: AguiMessage): Json[] {
    const added = this.#added();
    const { asked } = this;
    const end = added.findLastIndex((one) => asked.includes(one));
    const start = added.indexOf(message);
    const instructions = added.slice(0, start).filter((one) => !SPOKEN.includes(one.role) && !this.has(one));
    return [...instructions, ...added.slice(start, end + 1)].flatMap((one): Json[] => {
      if (one.role === "user" || !this.has(one)) return toGraph(this.#withAnsweredCalls(one));
      const known = one.role === "tool" ? undefined : this.#known.get(one.id);
      return known
        ? [
            known,
            ...callsIn(known).flatMap((id): Json[] => (this.#results.has(id) ? [this.#results.get(id) as Json] : [])),
          ]
        : [];
    });
  }

  /** Without copies of answers that the thread has, the results of their calls, and an answer that was cut off at the end. */
  #added(): AguiMessage[] {
    const left = new Set<string>();
    const end = this.#list.length === 0 ? Infinity : this.messages.findLastIndex(({ role }) => role === "user");
    let before: AguiMessage | undefined;
    return this.messages.filter((one, place) => {
      const isUnknown = one.role === "assistant" && !this.has(one);
      const isCopy = isUnknown && before !== undefined && (this.#hasAnswer(before) || place > end);
      if (isCopy) for (const { id } of one.toolCalls ?? []) left.add(id);
      if (isCopy || (one.role === "tool" && !this.has(one) && left.has(one.toolCallId ?? ""))) return false;
      before = one;
      return true;
    });
  }

  /** Whether the thread has an agent's message right after this one of a person. */
  #hasAnswer({ id, role }: AguiMessage): boolean {
    const place = role === "user" ? this.#list.findIndex((one) => one.id === id) : -1;
    return place >= 0 && this.#list.slice(place + 1).find(({ type }) => type !== "system")?.type === "ai";
  }

  /** A message that was cut off may have calls that nothing answers. Models refuse a conversation that goes on behind them. */
  #withAnsweredCalls(message: AguiMessage): AguiMessage[] {
    const { id: own, role, content, toolCalls } = message;
    const later = this.messages.slice(this.messages.findIndex(({ id }) => id === own) + 1);
    if (role !== "assistant" || !toolCalls?.length || !later.some((one) => one.role === "user")) return [message];
    const answered = new Set(later.map(({ toolCallId }) => toolCallId));
    const left = toolCalls.filter(({ id }) => answered.has(id));
    return left.length > 0 || content ? [{ ...message, toolCalls: left }] : [];
  }
}

const toGraph = (messages: AguiMessage[]): Json[] =>
  messages.map(graphMessage).filter((one): one is Json => one !== undefined);
