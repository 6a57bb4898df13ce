/** Changes of an example's attachments that would lose one are refused, as LangSmith refuses them. */
import { expect, it } from "vitest";
import { newCaller } from "../../../support/caller.ts";
import { ask, type Example, exampleParts, newDataset, sendExamples } from "../../../support/examples.ts";

it.each([
  ['{"rename":{"a":"b"},"retain":["b"]}', "the same name"],
  ['{"rename":{"a":"c","b":"c"}}', "the same name"],
  ['{"rename":{"a":"c"},"retain":["a"]}', "retained and renamed"],
  ['{"retain":["x"]}', "is not known"],
  ['{"rename":{"x":"y"}}', "is not known"],
])("%s", async (data, detail) => {
  const caller = await newCaller();
  const dataset = await newDataset(caller);
  const id = crypto.randomUUID();
  await sendExamples(caller, dataset, [
    ...exampleParts(id, { inputs: {} }),
    { name: `${id}.attachment.a`, type: "text/plain", data: "A" },
    { name: `${id}.attachment.b`, type: "text/plain", data: "B" },
  ]);
  const parts = [
    { name: id, data: "{}" },
    { name: `${id}.attachments_operations`, data },
  ];
  const refused = await sendExamples(caller, dataset, parts, "PATCH");
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining(detail)]);
  const { attachment_urls: urls } = await ask<Example>(caller, `/examples/${id}`);
  expect(Object.keys(urls ?? {})).toEqual(["attachment.a", "attachment.b"]);
});
