/** A WebSocket client that connects again when its connection closes, as browsers' clients do. */
import type { Caller } from "../support/caller.ts";
import { ALL, type Event } from "../protocols/streaming/client.ts";

/**
 * All events of the thread until one of which `until` holds. After a disconnect it requests the events after the last
 * one.
 */
export async function readSocket(caller: Caller, thread: string, until: (event: Event) => boolean): Promise<Event[]> {
  const events: Event[] = [];
  for (;;) {
    const response = await caller.fetch(`/threads/${thread}/stream/events`, { headers: { upgrade: "websocket" } });
    if (response.status >= 500) continue;
    if (!response.webSocket) throw new Error(`${response.status} ${await response.text()}`);
    if (await readOne(response.webSocket, events, until)) return events;
  }
}

/** Whether the end came over this connection. */
async function readOne(socket: WebSocket, events: Event[], until: (event: Event) => boolean): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data)) as Event;
    if (frame.type !== "event") return;
    events.push(frame);
    if (until(frame)) resolve(true);
  });
  socket.addEventListener("close", () => resolve(false));
  socket.addEventListener("error", () => resolve(false));
  socket.accept();
  const params = { channels: ALL, since: events.at(-1)?.seq ?? 0 };
  socket.send(JSON.stringify({ id: 1, method: "subscription.subscribe", params }));
  const ended = await promise;
  socket.close();
  return ended;
}
