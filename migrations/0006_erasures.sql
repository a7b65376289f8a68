CREATE TABLE `customer_hash_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`sealed` text NOT NULL,
	`created_at` integer NOT NULL,
	`kept_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `erasure_receipts` (
	`home` text NOT NULL,
	`site_id` integer NOT NULL,
	`erasure_id` text NOT NULL,
	`listed_at` integer NOT NULL,
	`first_chat_id` integer NOT NULL,
	`at` integer NOT NULL,
	`hash` text NOT NULL,
	`until` integer NOT NULL,
	`chat_ids` text NOT NULL,
	PRIMARY KEY(`home`, `site_id`, `erasure_id`, `listed_at`, `first_chat_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `erasures` (
	`site_id` integer NOT NULL,
	`hash` text NOT NULL,
	`id` text NOT NULL,
	`external_id` text,
	`until` integer NOT NULL,
	`listed_to` integer NOT NULL,
	`listed_at` integer NOT NULL,
	`total` integer NOT NULL,
	`step` integer NOT NULL,
	`made_by` text,
	`sessions` integer NOT NULL,
	`messages` integer NOT NULL,
	`participants` integer NOT NULL,
	`events` integer NOT NULL,
	`deliveries` integer NOT NULL,
	`webhooks` text NOT NULL,
	`begun_at` integer NOT NULL,
	`done_at` integer,
	PRIMARY KEY(`site_id`, `hash`, `id`),
	FOREIGN KEY (`site_id`) REFERENCES `home_sites`(`site_id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `erasures_under_way` ON `erasures` (`site_id`,`external_id`) WHERE external_id IS NOT NULL;
--> statement-breakpoint
-- Statistics for the planner: a site has many sessions, a customer has few. Without them SQLite checks the foreign key of a deleted
-- customer by reading every session of the site. ANALYZE of a table makes sqlite_stat1, and ANALYZE sqlite_schema loads it.
ANALYZE `jobs`;
--> statement-breakpoint
DELETE FROM sqlite_stat1 WHERE tbl = 'sessions';
--> statement-breakpoint
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
	('sessions', 'sessions', '1000000 50000 1'),
	('sessions', 'sessions_by_customer', '1000000 50000 3'),
	('sessions', 'sessions_by_status', '1000000 50000 25000');
--> statement-breakpoint
ANALYZE sqlite_schema;
