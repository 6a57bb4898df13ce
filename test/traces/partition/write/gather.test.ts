/** Writes of several callers in one transaction. */
import { describe, expect, it } from "vitest";
import { Gather } from "../../../../src/traces/partition/write/write.ts";
import type { RunWrite } from "../../../../src/traces/types.ts";

const write = (id: string): RunWrite => ({ kind: "post", id });
const names = (writes: RunWrite[]) => writes.map(({ id }) => id).join("");

describe("writes that come in one moment", () => {
  it("are applied once, together, in order", async () => {
    const applied: string[] = [];
    const gather = new Gather((writes) => applied.push(names(writes)));
    await Promise.all([gather.add([write("a"), write("b")]), gather.add([write("c")])]);
    expect(applied).toEqual(["abc"]);
    await gather.add([write("d")]);
    expect(applied).toEqual(["abc", "d"]);
  });

  it("are applied at once when they are many", async () => {
    const applied: number[] = [];
    const gather = new Gather((writes) => applied.push(writes.length));
    const many = Array.from({ length: 100 }, (_, index) => write(String(index)));
    void gather.add([write("a")]);
    void gather.add(many);
    expect(applied).toEqual([101]);
  });

  it("are separated when one cannot be written", async () => {
    const applied: string[] = [];
    const gather = new Gather((writes) => {
      if (names(writes).includes("x")) throw new Error("no");
      applied.push(names(writes));
    });
    const results = await Promise.allSettled([
      gather.add([write("a")]),
      gather.add([write("x")]),
      gather.add([write("b")]),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(applied).toEqual(["a", "b"]);
  });
});
