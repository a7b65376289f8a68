/** Bodies with their signatures. Code that signs can be checked with them, without a server. */

export const VECTOR_SECRET = "YOUR_APP_SECRET";

/** From the contract's public documentation. The signature is right, but the fields have an older form that the API refuses. */
export const DOCUMENTED_VECTOR = {
  body: '{"appid":"1b621280becdb0fa3d3e041ff69e1e1f","sbs":"1001","timestamp":1767772879,"ranstr":"4ad0faec14a58112","kefu_id":"10078","ip":""}',
  signature: "3fe1d90717d63866edb34f803e33d72bcee7aa197e380bf79f4fd674aedb6f0c",
};

/** create_gd accepted this body at the time of its timestamp. Its Chinese text shows whether the code signs UTF-8. */
export const ACCEPTED_VECTOR = {
  body: '{"appid":"42d7c13c16e7ed0479f2418eb8894310","timestamp":1781683144,"ranstr":"codex1033048655","sbs":"customer_001","kefu_id":[10411,10427],"fzr_uid":10411,"ip":"127.0.0.1","sbs_mc":"王伟","content":"我的订单在哪里？","title":"订单"}',
  signature: "cfee2313d9f0a5fe4f0bdcfd2b031bbbc6406b3414f42179831b3e48b761e05e",
};
