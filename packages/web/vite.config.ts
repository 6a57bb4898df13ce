import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defaultAllowedOrigins, defineConfig, type Plugin, type Rolldown } from "vite";

const local = (path: string) => join(import.meta.dirname, path);

const PAGE = local("index.html");
const MAIN = local("main.tsx");

/** Where `npm run dev` sends what is not the page's: a running Weir, or any Agent Server. */
const SERVER = process.env.WEIR_URL ?? "http://127.0.0.1:8787";
/** Of `/api` only what the server has: the page's own modules are served from `packages/web/api`. */
const API = /^\/(threads|assistants|runs|store|api\/(v1|v2|threads)|oauth|ok|info|\.well-known)(\/|\?|$)/;

/**
 * Files that hold what several views have in common. Over HTTP/1.1 six files load at a time, each after a round trip, so a
 * view is a few files. The first group that matches has a module.
 */
const GROUPS = [
  // Also of the frame that draws diagrams, which must not import the next one: that sends requests.
  { name: "preload", test: /preload-helper/ },
  // What sends the first requests, without React.
  {
    name: "first",
    test: /packages\/web\/(start|app\/(first|code)|api\/(http|oauth|server|session|requests)|resources\/presets|traces\/runs\/(request|facets))\.ts$/,
  },
  {
    name: "react",
    test: /node_modules\/(react|react-dom|scheduler|use-sync-external-store|@tanstack\/(query-core|react-query)|wouter)\//,
  },
  // The table has a virtual list, and not every view has a table.
  { name: "table", test: /node_modules\/@tanstack\/|packages\/web\/ui\/Table/ },
  {
    name: "controls",
    test: /packages\/web\/(ui\/(?!(Modal|no-scroll-lock|dialog|modal|menu|shares|days)\b)|resources\/(FilterInput|Page|RangePicker|State|page|presets|range|states?|TimesDialog)\.|app\/(view-props|Mark)\.|api|traces\/(?!collect)|traces\/collect\/AddTo\.|console\/playground\/handover|chat\/(Notice|thread-row|header\/(pick|assistant)|composer\/attach|session\/connection)\.)|node_modules\/lucide-react\//,
    minShareCount: 2,
  },
  // Menus, popovers and dialogs: no view needs them before a press.
  {
    name: "overlays",
    test: /node_modules\/(@radix-ui|@floating-ui|radix-ui|aria-hidden)\/|packages\/web\/(ui\/(?!shares|days)|resources\/(Confirm|ModalForm))/,
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
