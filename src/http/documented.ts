import { describeRoute } from "hono-openapi";

/** How a route stands in /openapi.json: in which group, and what it does. The schemas that check it say the rest. */
export const documented = (group: string) => (summary: string) => describeRoute({ tags: [group], summary });
