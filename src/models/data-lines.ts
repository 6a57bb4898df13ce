/** The data of server-sent events. */

/** Characters of one line. A provider that sends a longer one sends no chunk of an answer. */
const MOST_LINE = 4_000_000;

/** The data of each event, however the bytes are cut. */
export function dataLines(): TransformStream<Uint8Array, string> {
  const decoder = new TextDecoder();
  let rest = "";
  const dataIn = (line: string) => (line.startsWith("data:") ? line.slice("data:".length).trim() : "");
  return new TransformStream({
    transform(bytes, out) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MOST_LINE) throw new Error("The model sent an event that is too large.");
      for (const data of lines.map(dataIn)) if (data) out.enqueue(data);
    },
    flush(out) {
      const data = dataIn(rest + decoder.decode());
      if (data) out.enqueue(data);
    },
  });
}
