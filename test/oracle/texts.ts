/** What a reader has of each message, added up as clients do, from either stream. */
import type { Event } from "../protocols/streaming/client.ts";
import type { SseEvent } from "../support/sse.ts";

type Json = Record<string, unknown>;
export type Texts = Map<string, string>;

/** Of the classic stream: a chunk is added, a whole message replaces what there was. */
export function classicTexts(frames: readonly SseEvent[], before: Texts = new Map()): Texts {
  const texts = new Map(before);
  for (const { event, data } of frames) {
    // A run with subgraphs names the node: `messages|speak:…`.
    if (!/^messages($|\|)/.test(event)) continue;
    const [{ id, type, content }] = data as [{ id: string; type: string; content: string }];
    texts.set(id, type === "AIMessageChunk" ? (texts.get(id) ?? "") + content : content);
  }
  return texts;
}

/** Of the streaming protocol: by the model's run and the block. */
export function protocolTexts(events: readonly Event[], before: Texts = new Map()): Texts {
  const texts = new Map(before);
  for (const { method, params } of events) {
    const { event, run_id, index, delta } = params.data as Json & { delta?: { text?: string } };
    if (method !== "messages" || event !== "content-block-delta") continue;
    const key = `${String(run_id)}.${String(index)}`;
    texts.set(key, (texts.get(key) ?? "") + (delta?.text ?? ""));
  }
  return texts;
}
