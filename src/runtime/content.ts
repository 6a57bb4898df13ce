/** What providers put beside a message's text or under names of their own, as LangChain's standard content blocks. */

/**
 * Where a text comes from: the citations of Anthropic and the annotations of OpenAI's Responses API, as LangChain's standard content
 * blocks have them (`contentBlocks` of @langchain/core). Gemini's are in the metadata of the message, in a process too.
 */
type Given = Record<string, unknown>;

/** Of each kind of Anthropic's: the `source` of the standard, and the members that say where it begins and ends. */
const PLACES: Record<string, [source: string, start: string, end: string]> = {
  char_location: ["char", "start_char_index", "end_char_index"],
  page_location: ["page", "start_page_number", "end_page_number"],
  content_block_location: ["block", "start_block_index", "end_block_index"],
  search_result_location: ["search", "start_block_index", "end_block_index"],
  web_search_result_location: ["url", "encrypted_index", "encrypted_index"],
};

/** A text's members, with its citations as `annotations`. */
export function withCitations<T extends Given>(text: T): T {
  const { annotations, citations, ...rest } = text;
  if (!Array.isArray(annotations) && !Array.isArray(citations)) return text;
  const all: unknown[] = [annotations, citations].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  return { ...rest, annotations: all.map((one) => (isObject(one) ? standardCitation(one) : one)) } as unknown as T;
}

/** One that is in no provider's form as it is. */
function standardCitation(given: Given): Given {
  const { type } = given;
  if (type === "url_citation") {
    const { url, title, start_index: startIndex, end_index: endIndex } = given;
    return { type: "citation", url, title, startIndex, endIndex };
  }
  if (type === "file_citation") {
    const { file_id: fileId, filename: title, index } = given;
    return { type: "citation", title, startIndex: index, endIndex: index, fileId };
  }
  const place = typeof type === "string" && Object.hasOwn(PLACES, type) ? PLACES[type] : undefined;
  return place ? ofAnthropic(given, place) : given;
}

function ofAnthropic(given: Given, [source, start, end]: [string, string, string]): Given {
  const { type: _, source: address, document_title, cited_text: citedText, [start]: from, [end]: to, ...rest } = given;
  return {
    ...rest,
    type: "citation",
    source,
    ...(typeof address === "string" && { url: address }),
    ...(typeof document_title === "string" && { title: document_title }),
    ...placeCitation("startIndex", from),
    ...placeCitation("endIndex", to),
    citedText,
  };
}

/** The index of a result of a search in the web is encrypted, and often no number. */
const placeCitation = (name: string, index: unknown): Given =>
  Number.isFinite(Number(index)) ? { [name]: Number(index) } : {};

export type ContentPart = Record<string, unknown> & { type: string };
type Extra = Record<string, unknown>;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** A content block in its standard form; one that is in no provider's form as it is. */
export function standardPart(part: ContentPart): ContentPart {
  switch (part.type) {
    // Anthropic, Gemini; Mistral has a list of texts.
    case "thinking": {
      const { thinking, ...rest } = part;
      return { ...rest, type: "reasoning", reasoning: joinTexts(thinking) };
    }
    // Bedrock.
    case "reasoning_content": {
      const { reasoningText, ...rest } = part;
      if (reasoningText === undefined) return part;
      const { text: said, ...more } = isObject(reasoningText) ? reasoningText : { text: reasoningText };
      return { ...rest, ...more, type: "reasoning", reasoning: text(said) };
    }
    // Gemini.
    case "inlineData": {
      const { inlineData, ...rest } = part;
      if (!isObject(inlineData)) return part;
      const [kind = ""] = text(inlineData.mimeType).split("/");
      const type = ["image", "audio", "video"].includes(kind) ? kind : "file";
      return { ...rest, ...inlineData, type };
    }
    case "text": {
      if (part.thought !== true) return withCitations(part);
      const { thought: _, text: reasoning, ...rest } = part;
      return { ...rest, type: "reasoning", reasoning: text(reasoning) };
    }
    default:
      return part;
  }
}

/** The reasoning that is not in the content: of DeepSeek, Ollama, xAI, Groq, OpenRouter and the Responses API of OpenAI. */
export function reasoningIn({ reasoning_content, reasoning, reasoning_details }: Extra): string {
  const summary = isObject(reasoning) ? reasoning.summary : reasoning;
  return text(reasoning_content) || joinTexts(summary) || joinTexts(reasoning_details);
}

/** A text, or a list of objects with a text or a summary. */
function joinTexts(value: unknown): string {
  if (!Array.isArray(value)) return text(value);
  return value.map((one: unknown) => (isObject(one) ? text(one.text) || text(one.summary) : text(one))).join("");
}

const AUDIO_TYPES: Record<string, string> = {
  wav: "audio/wav",
  mp3: "audio/mpeg",
  flac: "audio/flac",
  opus: "audio/opus",
  aac: "audio/aac",
  pcm16: "audio/pcm",
};
const IMAGE_TYPES: Record<string, string> = { jpeg: "image/jpeg", jpg: "image/jpeg", webp: "image/webp" };

const findType = (types: Record<string, string>, format: unknown): string | undefined => {
  const name = text(format).toLowerCase();
  return Object.hasOwn(types, name) ? types[name] : undefined;
};

/** The audio of OpenAI's chat completions, or a chunk of it. `mimeType` is its type where it names none. */
export function audioIn({ audio }: Extra, mimeType: string): ContentPart | undefined {
  if (!isObject(audio)) return undefined;
  const { id, data, url, transcript, format } = audio;
  const members = Object.entries({ id, data, url, transcript }).filter(([, value]) => typeof value === "string");
  if (members.every(([name]) => name === "id")) return undefined;
  const type = text(audio.mime_type) || text(audio.mimeType) || findType(AUDIO_TYPES, format) || mimeType;
  return { type: "audio", ...Object.fromEntries(members), mimeType: type };
}

/** The images that a tool of OpenAI's Responses API has made. */
export function imagesIn({ tool_outputs }: Extra): ContentPart[] {
  if (!Array.isArray(tool_outputs)) return [];
  return tool_outputs.filter(isObject).flatMap(({ type, id, result, url, output_format }) => {
    const members = Object.entries({ id, data: result, url }).filter(([, value]) => typeof value === "string");
    if (type !== "image_generation_call" || members.every(([name]) => name === "id")) return [];
    const mimeType = findType(IMAGE_TYPES, output_format) ?? "image/png";
    return [{ type: "image", ...Object.fromEntries(members), mimeType }];
  });
}
