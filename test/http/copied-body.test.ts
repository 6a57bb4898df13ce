/** A copy of a request that is refused before its end holds none of the body, which the platform would keep for it. */
import { expect, it } from "vitest";
import { readBody, readCopy } from "../../src/http/validate.ts";

const CHUNK = 1_000;

/** A request whose body never ends, and whether both it and its copy have left the body. */
function createEndless() {
  const state = { isLeft: false };
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(CHUNK)),
    cancel: () => void (state.isLeft = true),
  });
  return { request: new Request("https://weir.example/", { method: "POST", body }), state };
}

it("leaves the body to the request when it is refused", async () => {
  const { request, state } = createEndless();
  const refused = readCopy(request, (copy) => readBody(copy, 5 * CHUNK));
  await expect(refused).rejects.toMatchObject({ status: 413 });
  expect(state.isLeft).toBe(false);
  // The source of a stream in two branches is cancelled when both are.
  await request.body?.cancel();
  expect(state.isLeft).toBe(true);
});

it("gives what was read, and the request keeps its body", async () => {
  const request = new Request("https://weir.example/", { method: "POST", body: "text" });
  expect(await readCopy(request, (copy) => copy.text())).toBe("text");
  expect(await request.text()).toBe("text");
});
