/** The pages of the documentation site, in reading order. Every docs/*.md is named here once; the build fails otherwise. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

const DOCS = join(import.meta.dirname, "..");

/** The page that `/docs/` shows. Its name lets a code host show it for the folder, too. */
export const HOME = "README.md";

const SECTIONS: Record<string, Record<string, string>> = {
  Start: {
    "quick-start": "Quick start",
    migrate: "Migrate",
    configuration: "Configuration",
    "own-code": "Your own code",
    "workers-ai": "Workers AI and Vectorize",
    compatibility: "Compatibility",
  },
  Deploy: {
    deploy: "Deploy",
    deploys: "Deploy while threads wait",
    environments: "Environments and domains",
    upgrade: "Upgrade and back up",
    uninstall: "Uninstall",
    operations: "Operations",
    limits: "Limits of the platform",
    costs: "Costs",
  },
  Agents: {
    graphs: "Graphs",
    api: "The API",
    streaming: "Streaming",
    "flow-control": "Flow control",
    budgets: "Budgets",
    prices: "Prices of models",
    a2a: "A2A",
    agui: "AG-UI",
    answers: "Answer a question",
    webhooks: "Webhooks",
    page: "The page",
  },
  Access: {
    keys: "API keys and audit trail",
    members: "Members and sign-in",
    oauth: "OAuth",
    security: "Security",
    encryption: "Encryption",
  },
  Traces: {
    traces: "Traces",
    "mcp-traces": "Traces for coding agents",
    evaluate: "Evaluate an agent",
    experiments: "Datasets and experiments",
    prompts: "Prompts",
    playground: "The playground",
    rules: "Rules on runs",
    alerts: "Alerts",
    exports: "Bulk export",
    "exports-r2": "Export to R2",
    "exports-aws-s3": "Export to AWS S3",
    "exports-gcs": "Export to Google Cloud Storage",
    "exports-minio-ceph": "Export to MinIO and Ceph",
    "exports-reading": "Read an export",
  },
  Inside: {
    architecture: "Architecture",
    semantics: "What a thread is",
    "event-log": "The event log",
    storage: "Storage",
    promises: "Promises",
  },
  Measurements: { benchmarks: "Benchmarks", scoreboard: "Scoreboard" },
};

/** The sidebar. Throws if a page is missing from it, or if it names a page that does not exist. */
export function sidebar() {
  const named = Object.values(SECTIONS).flatMap((pages) => Object.keys(pages));
  const there = readdirSync(DOCS)
    .filter((file) => file.endsWith(".md") && file !== HOME)
    .map((file) => file.slice(0, -".md".length));
  const missing = there.filter((page) => !named.includes(page));
  const absent = named.filter((page) => !there.includes(page));
  if (missing.length > 0) throw new Error(`docs/.vitepress/pages.ts does not name ${missing.join(", ")}.`);
  if (absent.length > 0)
    throw new Error(`docs/.vitepress/pages.ts names ${absent.join(", ")}, which docs/ does not have.`);
  return Object.entries(SECTIONS).map(([text, pages]) => ({
    text,
    items: Object.entries(pages).map(([page, title]) => ({ text: title, link: `/${page}` })),
  }));
}
