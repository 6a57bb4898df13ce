import { expect, it } from "vitest";
import { jsonArrayOfLines } from "../../src/http/json-stream.ts";

const encoder = new TextEncoder();

it("makes an array of lines, for chunks of any size", async () => {
  const items = [{ a: "x\ny" }, 1, "é🌊", [], null];
  for (let count = 0; count <= items.length; count += 1) {
    const bytes = encoder.encode(
      items
        .slice(0, count)
        .map((item) => `${JSON.stringify(item)}\n`)
        .join(""),
    );
    for (let size = 1; size <= bytes.length + 1; size += 1) {
      let at = 0;
      const lines = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (at >= bytes.length) return controller.close();
          controller.enqueue(bytes.slice(at, (at += size)));
        },
      });
      const response = jsonArrayOfLines(lines);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toEqual(items.slice(0, count));
    }
  }
});
