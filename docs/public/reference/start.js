// Shows /openapi.json of this server. Nothing is loaded from, or sent to, another origin.
import { nameControls } from "./names.js";
import { createApiReference } from "./standalone.esm.js";

nameControls(document.body);
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
