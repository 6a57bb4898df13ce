/** What each key of langgraph.json does, a sentence or two. scripts/configuration.ts checks that none is missing. */
export const ABOUT: Record<string, string> = {
  graphs:
    'The graphs by id: `<file>:<export>`, or `{"path": …, "description": …, "metadata": …}`, where the last two are those of [its default assistant](page.md#the-first-view). At least one',
  env: "Variables: a file such as `.env`, an object, or names of variables of the shell. A deploy sets them as [secrets](environments.md#secrets)",
  "auth.path": "An `Auth` object: [your own users](own-code.md#auth-your-own-users)",
  evaluators: "Functions that score traced runs, by name: [rules](rules.md#code)",
  "http.app": "A Hono application: [your own routes](own-code.md#app-your-own-routes)",
  "http.disable_a2a": "Leaves out `/a2a` and agent cards",
  "http.disable_agui": "Leaves out the AG-UI routes",
  "http.disable_mcp": "Leaves out `/mcp`",
  "http.disable_assistants": "Leaves out `/assistants`",
  "http.disable_threads":
    "Leaves out threads, their states and streams, and `/api/v1/activity`. Runs and crons of threads stay: `disable_runs` removes them",
  "http.disable_runs": "Leaves out runs and crons",
  "http.disable_store": "Leaves out `/store`",
  "http.cors.allow_origins": "Origins whose pages may call the API",
  "http.cors.allow_origin_regex": "The same as a regular expression",
  "http.cors.allow_methods": "Methods that such a page may use",
  "http.cors.allow_headers": "Headers that it may send",
  "http.cors.allow_credentials":
    "Whether it may send cookies. Needs `allow_origins` without `*`, or `allow_origin_regex`",
  "http.cors.expose_headers": "Headers that it may read",
  "http.cors.max_age": "Seconds for which a browser keeps the answer",
  "http.configurable_headers.include":
    "Headers of a request that a graph reads in `configurable`. `*` at the end matches the rest of a name",
  "http.configurable_headers.exclude": "Those of them that it does not",
  "http.configurable_headers.includes": "The same as `include`",
  "http.configurable_headers.excludes": "The same as `exclude`",
  "http.mount_prefix": "The path under which every route is, such as `/agents`",
  ui: "Components of [generative UI](own-code.md#ui-components-of-the-interface) by graph: a file whose default export has them by name",
  a2a: "What the [agent cards](a2a.md) of graphs say, by graph id",
  "ui_config.shared": "Packages that the page provides to the components, beside React",
  "http.disable_ui": "Leaves out `/ui`",
  "store.index.embed":
    "How texts become vectors: `<provider>:<model>` of an installed `@langchain/<provider>`, `workers-ai:@cf/…` of the binding `AI`, or `<file>:<export>`",
  "store.index.dims": "The length of a vector. Taken and not used: a vector has the length that the model gives it",
  "store.index.fields": "Paths of an item's value that are embedded; all texts if left out",
  "store.ttl.default_ttl": "Minutes after which an item that was stored without a time is deleted",
  "store.ttl.refresh_on_read": "Whether a read restarts the time by default",
  "store.ttl.sweep_interval_minutes": "Taken and not used: expired items are deleted every minute",
  budgets: "[Budgets](budgets.md): dollars or tokens that a run, a thread or a day may use",
  flow: "Rules of [flow control](flow-control.md): how many runs work at once and begin a minute, and in which order",
  "checkpointer.ttl.strategy": "What happens to a thread whose time is over",
  "checkpointer.ttl.default_ttl": "Minutes after which a thread that was made without a time is over, from then on",
  "checkpointer.ttl.sweep_interval_minutes": "Taken and not used: each thread ends itself",
  dependencies:
    "Taken and not used: the bundler follows the imports of the graphs, also into other packages of a monorepo",
};
