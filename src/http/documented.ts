import { describeRoute } from "hono-openapi";

/** The description of a route in /openapi.json: its group, and what it does. The rest comes from its schemas. */
export const documented = (group: string) => (summary: string) => describeRoute({ tags: [group], summary });
