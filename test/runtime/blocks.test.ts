/** Chunks of a streamed message as sub-events, added up as the clients do. */
import { convertChunksToEvents } from "@langchain/core/language_models/compat";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { describe, expect, it } from "vitest";
import { MessageBlocks, type MessageEvent } from "../../src/runtime/blocks.ts";

type Part = Record<string, unknown> & { type: string };

const streamChunks = (chunks: Part[][]): MessageEvent[] => {
  const blocks = new MessageBlocks("run");
  const events = chunks.flatMap((content) => blocks.delta(new AIMessageChunk({ content: content as never })));
  return [...events, ...blocks.finish()];
};

/** What a client has of each block after the deltas, and what the finish says of it. */
function collectBlocks(events: MessageEvent[]): { added: Part[]; finished: Part[] } {
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
    else if (change.type === "reasoning-delta") block.reasoning = String(block.reasoning) + String(change.reasoning);
    else block.text = String(block.text) + String(change.text);
  }
  return { added, finished };
}

describe("a streamed block that is no text", () => {
  it("is whole after three chunks of audio", () => {
    const chunk = (data: string, transcript: string) => [
      { type: "audio", index: 0, mimeType: "audio/wav", data, transcript },
    ];
    const events = streamChunks([chunk("AAAA", "one "), chunk("BBBB", "two "), chunk("CCCC", "three")]);
    const whole = { type: "audio", index: 0, mimeType: "audio/wav", data: "AAAABBBBCCCC", transcript: "one two three" };
    expect(collectBlocks(events)).toEqual({ added: [whole], finished: [whole] });
    const data = events.flatMap(({ delta }) => ((delta as Part | undefined)?.type === "data-delta" ? [delta] : []));
    expect(data).toMatchObject([{ data: "BBBB", encoding: "base64" }, { data: "CCCC" }]);
  });

  it("adds nested members up, and belongs to a block by index or by id", () => {
    const source = (data: string) => [{ type: "document", index: 1, source: { media_type: "text/plain", data } }];
    const call = (args: string) => [{ type: "server_tool_call_chunk", id: "s1", args }];
    const { added, finished } = collectBlocks(streamChunks([source("ab"), call('{"q":'), source("cd"), call("1}")]));
    expect(finished).toEqual(added);
    expect(added).toMatchObject([{ source: { data: "abcd" } }, { id: "s1", args: '{"q":1}' }]);
  });

  it("is a block of its own when it has neither", () => {
    const image = (url: string) => [{ type: "image", url }];
    const { added } = collectBlocks(streamChunks([image("https://a.example"), image("https://b.example")]));
    expect(added).toEqual([image("https://a.example")[0], image("https://b.example")[0]]);
  });
});

type Fields = Record<string, unknown>;

/** Chunks as providers of models give them. */
const streamFields = (...chunks: Fields[]): MessageEvent[] => {
  const blocks = new MessageBlocks("run");
  const events = chunks.flatMap((chunk) => blocks.delta(new AIMessageChunk({ content: "", ...chunk })));
  return [...events, ...blocks.finish()];
};
const extra = (additional_kwargs: Fields) => ({ additional_kwargs });
const parts = (...content: Part[]) => ({ content });

describe("what a provider puts in a place of its own", () => {
  it("is audio: each chunk of OpenAI's is a delta, and its words are a transcript", () => {
    const chunks = Array.from({ length: 60 }, (_, i) => extra({ audio: { data: `A${i}=`, index: 0 } }));
    const words = ["one ", "two"].map((transcript) => extra({ audio: { id: "audio_1", transcript, index: 0 } }));
    const events = streamFields(...words, ...chunks, extra({ audio: { expires_at: 1 } }));
    const deltas = events.flatMap(({ delta }) => ((delta as Part | undefined)?.type === "data-delta" ? [delta] : []));
    expect(deltas).toHaveLength(60);
    const { added, finished } = collectBlocks(events);
    const data = chunks.map((_, i) => `A${i}=`).join("");
    const whole = { type: "audio", id: "audio_1", data, mimeType: "audio/pcm", transcript: "one two" };
    expect([added, finished]).toEqual([[whole], [whole]]);
  });

  it("is audio in as many deltas as in process", async () => {
    const chunks = [
      extra({ audio: { id: "a", transcript: "one " } }),
      ...Array.from({ length: 60 }, (_, i) => extra({ audio: { data: `A${i}=` } })),
      extra({ audio: { transcript: "two" } }),
    ];
    const inProcess = convertChunksToEvents(
      (async function* () {
        for (const chunk of chunks)
          yield new ChatGenerationChunk({ text: "", message: new AIMessageChunk({ content: "", ...chunk }) });
      })(),
    );
    const expected: unknown[] = [];
    for await (const event of inProcess) if (event.event === "content-block-delta") expected.push(event.delta);
    const filterData = (deltas: unknown[]) =>
      deltas.filter((delta) => (delta as Part | undefined)?.type === "data-delta");
    expect(filterData(streamFields(...chunks).map(({ delta }) => delta))).toEqual(filterData(expected));
    expect(filterData(expected)).toHaveLength(60);
  });

  it("is audio of a message that was not streamed", () => {
    const audio = { id: "a", data: "AAAA", transcript: "hi", format: "mp3", expires_at: 1 };
    const message = new AIMessage({ id: "m", content: "", additional_kwargs: { audio, reasoning_content: "hm" } });
    const { added } = collectBlocks(new MessageBlocks("run").whole(message, "model"));
    expect(added).toEqual([
      { type: "reasoning", reasoning: "hm" },
      { type: "audio", id: "a", data: "AAAA", mimeType: "audio/mpeg", transcript: "hi" },
    ]);
  });

  it.each<[provider: string, ...chunks: [Fields, Fields]]>([
    ["DeepSeek, Ollama, xAI", extra({ reasoning_content: "hm " }), extra({ reasoning_content: "so" })],
    ["Groq", extra({ reasoning: "hm " }), extra({ reasoning: "so" })],
    [
      "OpenRouter",
      extra({ reasoning_details: [{ type: "reasoning.text", text: "hm " }] }),
      extra({ reasoning_content: "so", reasoning_details: [{ type: "reasoning.text", text: "so" }] }),
    ],
    [
      "OpenAI's Responses API",
      extra({ reasoning: { summary: [{ type: "summary_text", text: "hm " }] } }),
      extra({ reasoning: { summary: [{ type: "summary_text", text: "so" }], encrypted_content: "x" } }),
    ],
    [
      "OpenAI's Responses API, in both places",
      {
        ...parts({ type: "reasoning", reasoning: "hm ", index: 0 }),
        ...extra({ reasoning: { summary: [{ text: "hm " }] } }),
      },
      {
        ...parts({ type: "reasoning", reasoning: "so", index: 0 }),
        ...extra({ reasoning: { summary: [{ text: "so" }] } }),
      },
    ],
    [
      "Anthropic",
      parts({ type: "thinking", thinking: "hm ", index: 0 }),
      parts({ type: "thinking", thinking: "so", index: 0 }),
    ],
    [
      "Mistral",
      parts({ type: "thinking", thinking: [{ type: "text", text: "hm " }] }),
      parts({ type: "thinking", thinking: [{ type: "text", text: "so" }] }),
    ],
    [
      "Bedrock",
      parts({ type: "reasoning_content", reasoningText: { text: "hm " }, index: 0 }),
      parts({ type: "reasoning_content", reasoningText: "so", index: 0 }),
    ],
    ["Gemini", parts({ type: "text", text: "hm ", thought: true }), parts({ type: "text", text: "so", thought: true })],
  ])("is reasoning: of %s", (_provider, ...chunks) => {
    const { added, finished } = collectBlocks(streamFields(...chunks, { content: "The answer." }));
    expect(added).toEqual([
      { type: "reasoning", reasoning: "hm so" },
      { type: "text", text: "The answer." },
    ]);
    expect(finished).toEqual(added);
  });

  it("is the signature of a thought", () => {
    const { added, finished } = collectBlocks(
      streamFields(
        parts({ type: "thinking", thinking: "hm", index: 0 }),
        parts({ type: "thinking", signature: "sig", index: 0 }),
        parts({ type: "text", text: "So.", index: 1 }),
      ),
    );
    expect(added).toEqual([
      { type: "reasoning", reasoning: "hm", signature: "sig" },
      { type: "text", text: "So." },
    ]);
    expect(finished).toEqual(added);
  });

  it.each(["annotations", "citations"])("is %s of a text, which add up", (name) => {
    const createCitation = (url: string) =>
      parts({ type: "text", text: "", [name]: [{ type: "citation", url }], index: 0 });
    const say = (text: string) => parts({ type: "text", text, [name]: [], index: 0 });
    const { added, finished } = collectBlocks(
      streamFields(say("a"), createCitation("https://1"), say("b"), createCitation("https://2")),
    );
    const all = ["https://1", "https://2"].map((url) => ({ type: "citation", url }));
    expect(added).toEqual([{ type: "text", text: "ab", annotations: all }]);
    expect(finished).toEqual(added);
  });

  const cited = { document_index: 0, document_title: "Report", file_id: null, cited_text: "It grew." };
  it.each<[provider: string, model_provider: string, member: string, citation: Fields]>([
    [
      "Anthropic's of characters",
      "anthropic",
      "citations",
      { type: "char_location", ...cited, start_char_index: 3, end_char_index: 9 },
    ],
    [
      "Anthropic's of pages",
      "anthropic",
      "citations",
      { type: "page_location", ...cited, start_page_number: 1, end_page_number: 2 },
    ],
    [
      "Anthropic's of blocks",
      "anthropic",
      "citations",
      { type: "content_block_location", ...cited, start_block_index: 0, end_block_index: 1 },
    ],
    [
      "Anthropic's of the web",
      "anthropic",
      "citations",
      {
        type: "web_search_result_location",
        url: "https://a.example",
        title: "A",
        encrypted_index: "7",
        cited_text: "a",
      },
    ],
    [
      "Anthropic's of a search",
      "anthropic",
      "citations",
      {
        type: "search_result_location",
        source: "https://a.example",
        title: "A",
        search_result_index: 0,
        start_block_index: 0,
        end_block_index: 1,
        cited_text: "a",
      },
    ],
    [
      "OpenAI's of the web",
      "openai",
      "annotations",
      { type: "url_citation", url: "https://a.example", title: "A", start_index: 1, end_index: 5 },
    ],
    [
      "OpenAI's of a file",
      "openai",
      "annotations",
      { type: "file_citation", file_id: "f", filename: "a.pdf", index: 4 },
    ],
    ["OpenAI's of another kind", "openai", "annotations", { type: "file_path", file_id: "f", index: 4 }],
  ])("is a citation as in process: %s", (_name, model_provider, member, citation) => {
    const texts = [
      { type: "text", text: "It ", index: 0 },
      { type: "text", text: "grew.", index: 0 },
      { type: "text", text: "", [member]: [citation], index: 0 },
    ] as Part[];
    const chunks = texts.map((text) => ({ content: [text], response_metadata: { model_provider } }));
    const [first, ...more] = chunks.map((chunk) => new AIMessageChunk(chunk as never));
    const whole = more.reduce((sum, chunk) => sum.concat(chunk), first as AIMessageChunk);
    const inProcess = new AIMessage({ content: whole.content, response_metadata: { model_provider } }).contentBlocks;
    const { added, finished } = collectBlocks(streamFields(...chunks));
    expect(finished).toEqual(added);
    expect(added.map((block) => ({ ...block, index: 0 }))).toEqual(inProcess);
    expect(added).toMatchObject([{ type: "text", text: "It grew.", annotations: [{}] }]);
  });

  it("is a citation whose place is no number, or whose document has no title", () => {
    const web = {
      type: "web_search_result_location",
      url: "https://a.example",
      title: "A",
      encrypted_index: "Eo8B",
      cited_text: "a",
    };
    const page = { type: "page_location", ...cited, document_title: null, start_page_number: 1, end_page_number: 2 };
    const { added } = collectBlocks(streamFields(parts({ type: "text", text: "a", citations: [web, page], index: 0 })));
    expect(added[0]?.annotations).toEqual([
      { type: "citation", source: "url", url: "https://a.example", title: "A", citedText: "a" },
      {
        type: "citation",
        source: "page",
        document_index: 0,
        file_id: null,
        startIndex: 1,
        endIndex: 2,
        citedText: "It grew.",
      },
    ]);
  });

  it("is the grounding of Gemini's answer, which is metadata of the message in process too", () => {
    const groundingMetadata = { groundingChunks: [{ web: { uri: "https://a.example", title: "A" } }] };
    const response_metadata = { model_provider: "google", groundingMetadata };
    const message = new AIMessage({ id: "m", content: "It grew.", response_metadata });
    const events = new MessageBlocks("run").whole(message, "model");
    expect(events.at(-1)).toMatchObject({ responseMetadata: { groundingMetadata } });
    expect(collectBlocks(events).finished).toEqual(message.contentBlocks);
  });

  it("is an image that OpenAI's tool has made, once, or a file of Gemini's", () => {
    const made = extra({
      tool_outputs: [
        { type: "image_generation_call", id: "ig", result: "iVBO", output_format: "webp" },
        { type: "web_search_call", id: "ws" },
        { type: "image_generation_call", id: "later" },
      ],
    });
    const inline = (mimeType: string) => parts({ type: "inlineData", inlineData: { mimeType, data: "AA==" } });
    const { added } = collectBlocks(
      streamFields(made, made, inline("image/png"), inline("audio/L16"), inline("application/pdf")),
    );
    expect(added).toEqual([
      { type: "image", id: "ig", data: "iVBO", mimeType: "image/webp" },
      { type: "image", mimeType: "image/png", data: "AA==" },
      { type: "audio", mimeType: "audio/L16", data: "AA==" },
      { type: "file", mimeType: "application/pdf", data: "AA==" },
    ]);
  });

  it.each([
    { audio: "no object", tool_outputs: {}, reasoning: 5, reasoning_details: "" },
    { audio: { id: "only" }, tool_outputs: [null, "x"], reasoning: { summary: [null, 7] } },
    { audio: null, reasoning: null, reasoning_content: null, tool_outputs: null },
  ])("is nothing where it is malformed: %j", (additional_kwargs) => {
    expect(collectBlocks(streamFields({ additional_kwargs })).added).toEqual([]);
  });
});

it("a message that ended for a reason of another name ended by itself", () => {
  const response_metadata = { finish_reason: "constructor" };
  const end = new MessageBlocks("run").finish(new AIMessageChunk({ content: "", response_metadata })).at(-1);
  expect(end).toMatchObject({ event: "message-finish", reason: "stop" });
});
