import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defaultAllowedOrigins, defineConfig } from "vite";

const local = (path: string) => join(import.meta.dirname, path);

/** Where `npx vite` sends what is not the page's: a running Weir, or any Agent Server. */
const SERVER = process.env.WEIR_URL ?? "http://127.0.0.1:8787";
/** Of `/api` only what the server has: the page's own modules are served from `src/web/api`. */
const API = /^\/(threads|assistants|runs|store|api\/(v1|v2|threads)|oauth|ok|info|\.well-known)(\/|\?|$)/;

export default defineConfig({
  root: local("src/web"),
  plugins: [react()],
  resolve: {
    alias: [
      // The stream's client carries a tracing client that no page uses: 54 KB of 126.
      { find: /^langsmith(\/.*)?$/, replacement: local("src/web/api/no-tracing.ts") },
      { find: "react-remove-scroll", replacement: local("src/web/ui/no-scroll-lock.tsx") },
    ],
  },
  build: {
    outDir: local("dist/web"),
    emptyOutDir: true,
    target: "es2023",
    manifest: true,
    chunkSizeWarningLimit: 800,
    rolldownOptions: { input: [local("src/web/index.html"), local("src/web/diagram.html")] },
  },
  // The frame that draws diagrams has an opaque origin, whose name is "null".
  server: {
    cors: { origin: [defaultAllowedOrigins, "null"] },
    proxy: { [API.source]: { target: SERVER, changeOrigin: true } },
  },
});
