/** Chunks of a streamed message as sub-events, added up as the clients do. */
import { AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { MessageBlocks, type MessageEvent } from "../../src/runtime/blocks.ts";

type Part = Record<string, unknown> & { type: string };

const streamed = (chunks: Part[][]): MessageEvent[] => {
  const blocks = new MessageBlocks("run");
  const events = chunks.flatMap((content) => blocks.delta(new AIMessageChunk({ content: content as never })));
  return [...events, ...blocks.finish()];
};

/** What a client has of each block after the deltas, and what the finish says of it. */
function blocksOf(events: MessageEvent[]): { added: Part[]; finished: Part[] } {
  const added: Part[] = [];
  const finished: Part[] = [];
  for (const { event, index, content, delta } of events) {
    const at = Number(index);
    const change = delta as Part | undefined;
    if (event === "content-block-start") added[at] = { ...(content as Part) };
    if (event === "content-block-finish") finished[at] = content as Part;
    if (event !== "content-block-delta" || !change) continue;
    const block = added[at] as Part;
    if (change.type === "data-delta") block.data = `${block.data as string}${change.data as string}`;
    else if (change.type === "block-delta") Object.assign(block, change.fields);
    else block.text = String(block.text) + String(change.text);
  }
  return { added, finished };
}

describe("a streamed block that is no text", () => {
  it("is whole after three chunks of audio", () => {
    const chunk = (data: string, transcript: string) => [
      { type: "audio", index: 0, mimeType: "audio/wav", data, transcript },
    ];
    const events = streamed([chunk("AAAA", "one "), chunk("BBBB", "two "), chunk("CCCC", "three")]);
    const whole = { type: "audio", index: 0, mimeType: "audio/wav", data: "AAAABBBBCCCC", transcript: "one two three" };
    expect(blocksOf(events)).toEqual({ added: [whole], finished: [whole] });
    const data = events.flatMap(({ delta }) => ((delta as Part | undefined)?.type === "data-delta" ? [delta] : []));
    expect(data).toMatchObject([{ data: "BBBB", encoding: "base64" }, { data: "CCCC" }]);
  });

  it("adds nested members up, and belongs to a block by index or by id", () => {
    const source = (data: string) => [{ type: "document", index: 1, source: { media_type: "text/plain", data } }];
    const call = (args: string) => [{ type: "server_tool_call_chunk", id: "s1", args }];
    const { added, finished } = blocksOf(streamed([source("ab"), call('{"q":'), source("cd"), call("1}")]));
    expect(finished).toEqual(added);
    expect(added).toMatchObject([{ source: { data: "abcd" } }, { id: "s1", args: '{"q":1}' }]);
  });

  it("is a block of its own when it has neither", () => {
    const image = (url: string) => [{ type: "image", url }];
    const { added } = blocksOf(streamed([image("https://a.example"), image("https://b.example")]));
    expect(added).toEqual([image("https://a.example")[0], image("https://b.example")[0]]);
  });
});

it("a message that ended for a reason of another name ended by itself", () => {
  const response_metadata = { finish_reason: "constructor" };
  const end = new MessageBlocks("run").finish(new AIMessageChunk({ content: "", response_metadata })).at(-1);
  expect(end).toMatchObject({ event: "message-finish", reason: "stop" });
});
