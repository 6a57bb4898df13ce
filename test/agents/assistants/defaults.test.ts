import { expect, it } from "vitest";
import { defaultAssistantId } from "../../../src/agents/assistants/defaults.ts";

// Check values of the two official servers.
it.each([
  ["agent", "fe096781-5601-53d2-b2f6-0d3403f7e9ca"],
  ["echo", "046b5dc7-2108-582c-9c6c-31d556d138f0"],
])("the default assistant of graph %s is %s", (graphId, id) => {
  expect(defaultAssistantId(graphId)).toBe(id);
});
