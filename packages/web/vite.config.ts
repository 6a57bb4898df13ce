import { basename, join } from "node:path";
import react from "@vitejs/plugin-react";
import { defaultAllowedOrigins, defineConfig, type Plugin, type Rolldown } from "vite";

const local = (path: string) => join(import.meta.dirname, path);

const PAGE = local("index.html");
const MAIN = local("main.tsx");
const ROUTES = local("app/routes.ts");

/** Where `npm run dev` sends what is not the page's: a running Weir, or any Agent Server. */
const SERVER = process.env.WEIR_URL ?? "http://127.0.0.1:8787";
/** The paths of the server. The page's own modules are served from `packages/web/api`, below `/api`. */
const API = /^\/(threads|assistants|runs|store|api\/(v1|v2|threads)|oauth|ok|info|\.well-known)(\/|\?|$)/;

/** The modules that a module imports statically, itself included. */
function collectImports(id: string, context: Rolldown.ChunkingContext, found = new Set<string>()): Set<string> {
  if (found.has(id)) return found;
  found.add(id);
  for (const one of context.getModuleInfo(id)?.importedIds ?? []) collectImports(one, context, found);
  return found;
}

type Views = Map<string, Set<string>>;

/** The views that have a module, by module. `app/routes.ts` imports the views. The frame counts as a view of the name of `MAIN`. */
function listViews(context: Rolldown.ChunkingContext): Views {
  const views: Views = new Map();
  for (const view of [MAIN, ...(context.getModuleInfo(ROUTES)?.dynamicallyImportedIds ?? [])])
    for (const id of collectImports(view, context)) views.set(id, (views.get(id) ?? new Set()).add(view));
  return views;
}

const known = new WeakMap<Rolldown.ChunkingContext, Views>();

/** The views that have a module. A view's own module is left to it. */
function findViews(id: string, context: Rolldown.ChunkingContext): string[] {
  const views = known.get(context) ?? listViews(context);
  known.set(context, views);
  const having = views.get(id) ?? new Set();
  return having.has(id) ? [] : [...having];
}

/** Views with the smallest budget (`scripts/page-weight.mjs`), and the first page. */
const OFTEN = /\/(Chat|Traces|Overview)\.tsx$/;
/** A module of one of these views and of at most two others is left to the bundler. */
const FEW = 3;

/**
 * The chunk of a module that several views share. A view that is opened often loads nothing that it does not need: its shared modules
 * are in a chunk for each set of these views. All other modules are left to the bundler.
 *
 * @param count the number of views that are opened often and have the module. A chunk takes along what its modules import, so the
 *   largest sets come first
 */
const nameShared = (count: number) => (id: string, context: Rolldown.ChunkingContext) => {
  const views = findViews(id, context);
  const often = views.filter((view) => OFTEN.test(view)).map((view) => basename(view, ".tsx").toLowerCase());
  if (often.length !== count || (count === 1 && views.length <= FEW)) return null;
  return ["shared", ...often.toSorted()].join("-");
};

/**
 * Chunks of what several views share. Over HTTP/1.1 six files load at a time, each after a round trip, so a view is a few files.
 * The first group that matches has a module.
 */
const GROUPS: Rolldown.CodeSplittingGroup[] = [
  // Also of the frame that draws diagrams, which must not import the next one: that sends requests.
  { name: "preload", test: /preload-helper/ },
  // All that `start.ts` imports: it sends the first requests, without React.
  { name: "first", tags: ["$initial"], test: /packages\/web\/(?!chat\/diagram\/).*\.ts$/ },
  {
    name: "react",
    test: /node_modules\/(react|react-dom|scheduler|use-sync-external-store|@tanstack\/(query-core|react-query)|wouter)\//,
  },
  { name: (id, context) => (findViews(id, context).includes(MAIN) ? "frame" : null) },
  { name: nameShared(3) },
  { name: nameShared(2) },
  { name: nameShared(1) },
  // Menus, popovers and dialogs: no view needs them before a press.
  {
    name: "overlays",
    test: /node_modules\/(@radix-ui|@floating-ui|radix-ui|aria-hidden)\/|packages\/web\/(ui\/(Modal|dialog|modal|menu|no-scroll-lock)|resources\/(Confirm|ModalForm))/,
    minShareCount: 2,
  },
];

/** The page's own code, and its styles, are named in `index.html`: the entry imports them when it has sent the first requests. */
const preloadMain: Plugin = {
  name: "preload-main",
  transformIndexHtml: {
    order: "post",
    handler(html, { filename, bundle = {} }) {
      const files = new Map<string, Rolldown.OutputChunk>();
      const collect = (name: string) => {
        const chunk = bundle[name];
        if (chunk?.type !== "chunk" || files.has(name)) return;
        chunk.imports.forEach(collect);
        files.set(name, chunk);
      };
      if (filename === PAGE)
        for (const [name, chunk] of Object.entries(bundle))
          if (chunk.type === "chunk" && chunk.facadeModuleId === MAIN) collect(name);
      const styles = [...files.values()].flatMap(({ viteMetadata }) => [...(viteMetadata?.importedCss ?? [])]);
      return [
        ...[...files.keys()].map((file) => ({ rel: "modulepreload", href: `/${file}` })),
        ...styles.map((file) => ({ rel: "stylesheet", href: `/${file}` })),
      ]
        .filter(({ href }) => !html.includes(href))
        .map((attrs) => ({ tag: "link", attrs: { ...attrs, crossorigin: true }, injectTo: "head" }));
    },
  },
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), preloadMain],
  resolve: {
    alias: [
      // The stream's client carries a tracing client that no page uses: 54 KB of 126.
      { find: /^langsmith(\/.*)?$/, replacement: local("api/no-tracing.ts") },
      { find: "react-remove-scroll", replacement: local("ui/no-scroll-lock.tsx") },
    ],
  },
  build: {
    outDir: local("../../dist/web"),
    emptyOutDir: true,
    target: "es2023",
    manifest: true,
    // Each browser that runs this target has it.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      input: [PAGE, local("diagram.html")],
      output: { codeSplitting: { groups: GROUPS } },
    },
  },
  // The frame that draws diagrams has an opaque origin, whose name is "null".
  server: {
    cors: { origin: [defaultAllowedOrigins, "null"] },
    proxy: { [API.source]: { target: SERVER, changeOrigin: true } },
  },
});
