// Shows /openapi.json of this server. Nothing is loaded from, or sent to, another origin.
import { createApiReference } from "./standalone.esm.js";

createApiReference("#reference", {
  url: "/openapi.json",
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  persistAuth: false,
  defaultOpenAllTags: false,
  documentDownloadType: "direct",
});
