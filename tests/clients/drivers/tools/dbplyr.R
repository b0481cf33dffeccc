# dbplyr over RPostgreSQL: each verb is tried, and what it gives is compared by whoever reads the lines.
suppressPackageStartupMessages({
  library(DBI); library(RPostgreSQL); library(dplyr); library(dbplyr); library(jsonlite)
})
env <- function(word) Sys.getenv(paste0("ASK_", word))
con <- dbConnect(PostgreSQL(), host = env("HOST"), port = as.integer(env("PORT")), user = env("USER"),
                 password = env("PASSWORD"), dbname = env("DATABASE"))
account <- dbConnect(PostgreSQL(), host = env("HOST"), port = as.integer(env("PORT")), user = env("USER"),
                     password = env("PASSWORD"), dbname = env("DATABASE"))
has <- !is.na(dbGetQuery(account, "SELECT to_regclass('dpsql.budget')::text AS t")$t)
paid <- function() if (has) as.numeric(dbGetQuery(account, "SELECT epsilon_spent / per_query_epsilon AS p FROM dpsql.budget")$p) else 0
tried <- function(part, name, work) {
  before <- paid()
  told <- tryCatch(list(got = force(work)), error = function(failed) {
    said <- conditionMessage(failed)
    if (!is.null(failed$parent)) said <- paste(said, conditionMessage(failed$parent))
    list(failed = said)
  })
  line <- c(list(part = part, name = name), told, list(paid = round(paid() - before, 3)))
  cat(toJSON(line, auto_unbox = TRUE, digits = 6, null = "null", na = "null"), "\n", sep = "")
}
rows <- function(query) {
  found <- as.data.frame(collect(query))
  found[] <- lapply(found, function(one) if (inherits(one, c("Date", "POSIXct", "integer64"))) as.character(one) else if (is.numeric(one)) round(one, 4) else one)
  found[do.call(order, lapply(found, as.character)), , drop = FALSE]
}
t <- tbl(con, "trips"); z <- tbl(con, "zones")
by <- t %>% group_by(payment_type) %>% summarise(n = n(), fare = mean(fare, na.rm = TRUE))
verbs <- list(
  summarise = quote(rows(t %>% summarise(n = n()))),
  count = quote(rows(t %>% count(payment_type))),
  tally = quote(rows(t %>% tally())),
  group_by = quote(rows(by)),
  group_by_two = quote(rows(t %>% group_by(payment_type, passenger_count) %>% summarise(n = n(), .groups = "drop"))),
  ungroup = quote(rows(by %>% ungroup())),
  filter = quote(rows(t %>% filter(fare > 20) %>% count())),
  filter_in = quote(rows(t %>% filter(pickup_zone %in% c(1L, 2L)) %>% count())),
  filter_na = quote(rows(t %>% filter(is.na(payment_type)) %>% count())),
  filter_between = quote(rows(t %>% filter(between(fare, 10, 20)) %>% count())),
  mutate = quote(rows(t %>% mutate(share = tip / (fare + 1)) %>% summarise(share = mean(share, na.rm = TRUE)))),
  transmute = quote(rows(t %>% transmute(both = fare + tip) %>% summarise(both = mean(both, na.rm = TRUE)))),
  select = quote(rows(t %>% select(fare, tip) %>% summarise(n = n()))),
  rename = quote(rows(t %>% rename(price = fare) %>% summarise(p = mean(price, na.rm = TRUE)))),
  relocate = quote(rows(t %>% relocate(tip) %>% summarise(n = n()))),
  arrange = quote(rows(by %>% arrange(desc(n)))),
  head = quote(rows(by %>% arrange(payment_type) %>% head(1))),
  slice_min = quote(rows(by %>% slice_min(payment_type, n = 1))),
  slice_max = quote(rows(by %>% slice_max(payment_type, n = 1))),
  distinct = quote(rows(t %>% distinct(payment_type))),
  n_distinct = quote(rows(t %>% summarise(n = n_distinct(pickup_zone)))),
  inner_join = quote(rows(t %>% inner_join(z, by = c("pickup_zone" = "zone_id")) %>% count(borough))),
  left_join = quote(rows(t %>% left_join(z, by = c("pickup_zone" = "zone_id")) %>% count(borough))),
  right_join = quote(rows(by %>% right_join(by, by = "payment_type") %>% count())),
  full_join = quote(rows(by %>% full_join(by, by = "payment_type") %>% count())),
  semi_join = quote(rows(t %>% semi_join(z %>% filter(borough == "Queens"), by = c("pickup_zone" = "zone_id")) %>% count())),
  anti_join = quote(rows(t %>% anti_join(z %>% filter(borough == "Queens"), by = c("pickup_zone" = "zone_id")) %>% count())),
  union_all = quote(rows(union_all(by, by))),
  union = quote(rows(union(by, by))),
  intersect = quote(rows(intersect(by %>% select(payment_type), by %>% select(payment_type)))),
  setdiff = quote(rows(setdiff(by %>% select(payment_type), by %>% filter(n > 999) %>% select(payment_type)))),
  case_when = quote(rows(t %>% mutate(c = case_when(fare > 30 ~ "dear", TRUE ~ "cheap")) %>% count(c))),
  if_else = quote(rows(t %>% mutate(c = if_else(fare > 30, 1L, 0L)) %>% summarise(c = sum(c, na.rm = TRUE)))),
  ifelse = quote(rows(t %>% mutate(c = ifelse(fare > 30, "a", "b")) %>% count(c))),
  coalesce = quote(rows(t %>% mutate(p = coalesce(payment_type, "none")) %>% count(p))),
  na_if = quote(rows(t %>% mutate(p = na_if(payment_type, "cash")) %>% count(p))),
  across = quote(rows(t %>% summarise(across(c(fare, tip), ~ mean(.x, na.rm = TRUE))))),
  sum = quote(rows(t %>% summarise(s = sum(fare, na.rm = TRUE)))),
  min_max = quote({ m <- rows(t %>% summarise(a = min(fare, na.rm = TRUE), b = max(fare, na.rm = TRUE))); c(abs(m$a - 3) < 1, abs(m$b - 52) < 1) }),
  sd_var = quote(rows(t %>% summarise(s = sd(fare, na.rm = TRUE), v = var(fare, na.rm = TRUE)))),
  median = quote(abs(rows(t %>% summarise(m = median(fare, na.rm = TRUE)))$m - 27.5) < 1),
  quantile = quote(abs(rows(t %>% summarise(m = quantile(fare, 0.25, na.rm = TRUE)))$m - 15) < 1),
  cor = quote(rows(t %>% summarise(c = cor(fare, total)))),
  floor_date = quote(rows(t %>% mutate(m = date_trunc("month", pickup_ts)) %>% count(m))),
  hour = quote(rows(t %>% mutate(h = date_part("hour", pickup_ts)) %>% filter(h < 2) %>% count(h))),
  cut = quote(rows(t %>% mutate(b = floor(fare / 10) * 10) %>% count(b) %>% filter(n > 0))),
  round = quote(rows(t %>% mutate(r = round(fare / 10)) %>% count(r) %>% filter(n > 0))),
  str_sub = quote(rows(t %>% mutate(s = substr(payment_type, 1L, 2L)) %>% count(s))),
  paste = quote(rows(t %>% mutate(s = paste0(payment_type, "!")) %>% count(s))),
  toupper = quote(rows(t %>% mutate(s = toupper(payment_type)) %>% count(s))),
  row_number = quote(rows(by %>% mutate(r = row_number(payment_type)))),
  rank = quote(rows(by %>% mutate(r = min_rank(n)))),
  cumsum = quote(rows(by %>% window_order(payment_type) %>% mutate(c = cumsum(n)))),
  share = quote(rows(by %>% mutate(s = n / sum(n, na.rm = TRUE)))),
  pull = quote(sort(pull(by, n))),
  compute = quote(rows(compute(by))),
  temporary_table = quote({
    dbExecute(con, "CREATE TEMP TABLE labels AS SELECT 'cash'::text AS payment_type, 'coins'::text AS label")
    rows(by %>% inner_join(tbl(con, "labels"), by = "payment_type"))
  }),
  tbl_sql = quote(rows(tbl(con, sql("SELECT payment_type, count(*) AS n FROM trips GROUP BY 1")))),
  show_query = quote(nchar(remote_query(by)) > 0),
  explain = quote(length(capture.output(explain(by))) > 0),
  nrow_of_colnames = quote(colnames(t)),
  glimpse = quote(length(capture.output(glimpse(by))) > 0)
)
for (name in names(verbs)) tried("verbs", name, eval(verbs[[name]]))
tried("rows", "head of a table", nrow(rows(head(t, 3))))
tried("rows", "print of a table", length(capture.output(print(t))) > 0)
invisible(dbDisconnect(con)); invisible(dbDisconnect(account))
