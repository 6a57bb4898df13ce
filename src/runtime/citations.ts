/**
 * Where a text comes from: the citations of Anthropic and the annotations of OpenAI's Responses API, as LangChain's standard content
 * blocks have them (`contentBlocks` of @langchain/core). Gemini's are in the metadata of the message, in a process too.
 */
type Given = Record<string, unknown>;

const isObject = (value: unknown): value is Given =>
  typeof value === "object" && value !== null && !Array.isArray(value);

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
