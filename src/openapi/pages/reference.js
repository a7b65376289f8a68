import { init } from "/docs/reference/redoc.js";

const definition = await (await fetch("/openapi.json")).json();
const bar = document.querySelector(".bar");

init(
  definition,
  { disableTelemetry: true, hideDownloadButtons: true, scrollYOffset: () => bar.offsetHeight },
  document.getElementById("reference"),
);
