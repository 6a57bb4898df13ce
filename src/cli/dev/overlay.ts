/** How the page shows the error of a build: a script that `weir dev` puts into it. A deployment has none of this. */
import { Transform } from "node:stream";

export const DEV_SCRIPT_PATH = "/.weir/dev.js";
export const EVENTS_PATH = "/.weir/events";

/** Shows the error over the page while there is one. Reloads a page that was opened before the first build. */
export const DEV_SCRIPT = `const box = document.createElement("pre");
box.id = "weir-build-error";
box.setAttribute("role", "alert");
Object.assign(box.style, {
  position: "fixed", inset: "auto 0 0 0", margin: 0, padding: "1rem", maxHeight: "50vh", overflow: "auto", zIndex: 9999,
  background: "#2a0f0f", color: "#ffd9d9", font: "13px/1.5 ui-monospace, monospace", whiteSpace: "pre-wrap",
});
const failed = "weirFailed" in document.documentElement.dataset;
let source;
// A browser keeps six connections to a server, for all its tabs together.
const follow = () => {
  source?.close();
  if (document.hidden) return;
  source = new EventSource("${EVENTS_PATH}");
  source.onmessage = ({ data }) => {
    const error = JSON.parse(data);
    box.textContent = error ?? "";
    if (error && !failed) document.body.append(box);
    else box.remove();
    if (!error && failed) location.reload();
  };
};
document.addEventListener("visibilitychange", follow);
follow();
`;

/** Puts the script before the end of the page's head. */
export function withScript(): Transform {
  const chunks: Buffer[] = [];
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
    flush(done) {
      const text = Buffer.concat(chunks).toString("utf8");
      this.push(text.replace("</head>", `<script type="module" src="${DEV_SCRIPT_PATH}"></script></head>`));
      done();
    },
  });
}
