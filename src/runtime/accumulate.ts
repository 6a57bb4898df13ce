/** Adds up the streamed chunks of messages, for the classic `messages` mode whose events hold the message so far. */
import type { Json } from "../lib/json.ts";
import { AIMessageChunk } from "@langchain/core/messages";
import { toWireJson, wireChunk } from "./wire.ts";

export class Accumulator {
  #messages = new Map<string, AIMessageChunk>();

  /** The message so far, in wire form, and whether this was its first chunk. */
  add(chunk: Json & { id: string }): { message: string; first: boolean } {
    const first = !this.#messages.has(chunk.id);
    return { message: toWireJson(this.take(chunk)), first };
  }

  /** Takes a chunk in without writing the sum out, which costs as much as the message is long. */
  take(chunk: Json & { id: string }): AIMessageChunk {
    const before = this.#messages.get(chunk.id);
    const { type: _type, ...fields } = chunk;
    const next = new AIMessageChunk(fields);
    const sum = before ? before.concat(next) : next;
    this.#messages.set(chunk.id, sum);
    return sum;
  }

  /** The chunks of one message so far, as one chunk in wire form. */
  chunk(id: string): Json {
    const sum = this.#messages.get(id);
    return sum ? (JSON.parse(wireChunk(sum)) as Json) : {};
  }
}
