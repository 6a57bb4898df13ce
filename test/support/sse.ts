/** Reads Server-Sent Events as a client does, also one that is cut off at any byte. */

export interface SseEvent {
  event: string;
  data: unknown;
  id?: string;
}

/** The events of a body, one by one. With `maxBytes` the connection is dropped after that many bytes. */
export async function* sseEvents(response: Response, maxBytes = Infinity): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let left = maxBytes;
  for await (const bytes of response.body ?? []) {
    const piece = decoder.decode((bytes as Uint8Array).subarray(0, left), { stream: true });
    left -= (bytes as Uint8Array).byteLength;
    pieces.push(piece);
    // A long frame comes in thousands of pieces: it is joined once.
    if (piece.includes("\n")) {
      const frames = pieces.join("").split("\n\n");
      pieces = frames.splice(-1);
      for (const frame of frames) {
        const event = parse(frame);
        if (event) yield event;
      }
    }
    if (left <= 0) return;
  }
}

/** One frame; undefined for a comment. */
function parse(frame: string): SseEvent | undefined {
  const fields = frame.split("\n").flatMap((line) => {
    const match = /^(event|data|id): ?(.*)$/.exec(line);
    return match ? [[match[1] ?? "", match[2] ?? ""] as const] : [];
  });
  const data = fields.filter(([name]) => name === "data").map(([, value]) => value);
  if (data.length === 0) return undefined;
  const { event = "message", id } = Object.fromEntries(fields) as Record<string, string>;
  return { event, id, data: JSON.parse(data.join("\n")) };
}

/** A place in a stream that survives its connections: the last id seen, and every event so far. */
export class Cursor {
  lastId: string | undefined;
  readonly events: SseEvent[] = [];

  /** Reads a response until it ends or `maxBytes` arrived. A lost connection is also an end. */
  async read(response: Response, maxBytes?: number): Promise<"ended" | "dropped"> {
    let received = 0;
    const counted = new Response(
      response.body?.pipeThrough(
        new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            received += chunk.byteLength;
            controller.enqueue(chunk);
          },
        }),
      ) ?? null,
    );
    try {
      for await (const event of sseEvents(counted, maxBytes)) {
        this.events.push(event);
        if (event.id !== undefined) this.lastId = event.id;
      }
    } catch {
      return "dropped";
    }
    return maxBytes !== undefined && received >= maxBytes ? "dropped" : "ended";
  }
}
