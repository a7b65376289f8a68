// The guide follows the reference's switch for light and dark.
const mode = localStorage.getItem("redoc.colorMode");
if (mode !== null) document.documentElement.classList.add(mode);

// Commands get the address of this deployment, so that they can be pasted unchanged.
for (const place of document.querySelectorAll("[data-origin]")) place.textContent = location.origin;

for (const block of document.querySelectorAll("pre")) {
  if (navigator.clipboard === undefined) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
  const frame = document.createElement("div");
  frame.className = "frame";
  block.replaceWith(frame);
  frame.append(block, button);
}
