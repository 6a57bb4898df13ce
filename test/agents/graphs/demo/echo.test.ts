import { expect, it } from "vitest";
import { human, lastText, onThread, openGraph } from "./support.ts";

it("echo says back the last message and keeps the conversation", async () => {
  const echo = await openGraph("echo");
  await echo.invoke(human("one"), onThread("t"));
  const state = await echo.invoke(human("two"), onThread("t"));
  expect(lastText(state)).toBe("You said: two");
  expect(state.messages).toHaveLength(4);
});

it("echo takes any object", async () => {
  const echo = await openGraph("echo");
  for (const input of [{}, { anything: { nested: [1] } }]) {
    expect(lastText(await echo.invoke(input, onThread(crypto.randomUUID())))).toBe("You said: nothing");
  }
});
