/** The text of an answer; of a stream of events what comes before a pause, since a stream may stay open. */
export async function firstText(response: Response): Promise<string> {
  if (!response.headers.get("content-type")?.includes("event-stream")) return response.text();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const waitIdle = () =>
    new Promise<{ done: true; value?: undefined }>((done) => setTimeout(done, 300, { done: true }));
  let text = "";
  for (;;) {
    const { done, value } = (await Promise.race([reader?.read(), waitIdle()])) ?? { done: true };
    if (done) break;
    text += value;
  }
  void reader?.cancel();
  return text;
}
