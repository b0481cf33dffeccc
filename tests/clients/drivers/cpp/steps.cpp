// libpqxx: parameters as text, arrays as literals.
#include <pqxx/pqxx>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

using std::string;

static string env(const string &name) { return std::getenv(("ASK_" + name).c_str()); }

static string dsn(const string &more) {
  return "host=" + env("HOST") + " port=" + env("PORT") + " user=" + env("USER") + " password='" + env("PASSWORD") +
         "' dbname=" + env("DATABASE") + " " + more;
}

static string quoted(const string &text) {
  string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

static string value(const pqxx::field &field) { return field.is_null() ? "null" : quoted(field.c_str()); }

static string joined(const std::vector<string> &parts) {
  string out;
  for (const auto &part : parts) out += (out.empty() ? "" : ",") + part;
  return "[" + out + "]";
}

static std::vector<string> lines(const string &text, char by) {
  std::istringstream in(text);
  std::vector<string> out;
  for (string line; std::getline(in, line, by);) out.push_back(line);
  return out;
}

static pqxx::connection session(dsn("sslmode=require"));

static pqxx::result ask(const string &statement) { return pqxx::nontransaction(session).exec(statement); }

template <typename... Values> static string one(const string &statement, Values... values) {
  return value(pqxx::nontransaction(session).exec_params(statement, values...)[0][0]);
}

static std::vector<string> column(const pqxx::result &rows) {
  std::vector<string> out;
  for (const auto &row : rows) out.push_back(value(row[0]));
  return out;
}

static std::vector<string> pairs(const pqxx::result &rows) {
  std::vector<string> out;
  for (const auto &row : rows) out.push_back(joined({value(row[0]), value(row[1])}));
  return out;
}

static string code(const string &statement) {
  try {
    ask(statement);
  } catch (const pqxx::insufficient_privilege &) {
    return quoted("42501");  // such errors have a class, and no SQLSTATE
  } catch (const pqxx::sql_error &failed) {
    return quoted(failed.sqlstate());
  }
  return quoted("answered");
}

static string types() {
  string out;
  for (const auto &line : lines(env("TYPES"), '\n')) {
    auto part = lines(line, '\t');
    out += (out.empty() ? "" : ",") + quoted(part[0]) + ":" + joined({one(part[1], part[2]), one(part[1], nullptr)});
  }
  return "{" + out + "}";
}

static string cursor() {
  pqxx::work work(session);
  pqxx::stateless_cursor<pqxx::cursor_base::read_only, pqxx::cursor_base::owned> steps(
      work, env("GROUPED"), "steps", false);
  std::vector<string> out;
  for (int from = 0; from < 4; from += 2)
    for (const auto &row : pairs(steps.retrieve(from, from + 2))) out.push_back(row);
  return joined(out);
}

static string cancel() {
  std::thread beside([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    session.cancel_query();
  });
  string stopped = code(env("SLOW"));
  beside.join();
  return stopped;
}

static string timeout() {
  ask("SET statement_timeout = '300ms'");
  string stopped = code(env("SLOW"));
  ask("RESET statement_timeout");
  return stopped;
}

static string tls() {
  pqxx::connection checked(dsn("sslmode=verify-full channel_binding=require sslrootcert=" + env("ROOT")));
  pqxx::nontransaction(checked).exec(env("GROUPED"));
  return quoted("bound");
}

// It hands out bytes; this program writes UTF-8.
static string encodings() {
  string out;
  for (const auto &line : lines(env("WORDS"), '\n')) {
    auto part = lines(line, '\t');
    if (part[0] != "UTF8" && part[0] != "UNICODE") continue;
    session.set_client_encoding(part[0]);
    out += (out.empty() ? "" : ",") + quoted(part[0]) + ":" + value(ask(part[1])[0][0]);
  }
  return "{" + out + "},\"note\":\"hands out bytes, so only UTF8 and UNICODE were tried\"";
}

static void tell(const string &step, const std::function<string()> &take) {
  string told;
  try {
    told = "\"got\":" + take();
  } catch (const std::exception &failed) {
    told = "\"failed\":" + quoted(failed.what());
  }
  std::cout << "{\"step\":" << quoted(step) << "," << told << "}" << std::endl;
}

int main() {
  tell("connect", [] {
    auto row = ask("SELECT current_user, current_database()")[0];
    return joined({value(row[0]), value(row[1])});
  });
  tell("TLS", tls);
  tell("tables", [] { return joined(column(ask(env("TABLES")))); });
  tell("columns", [] { return joined(column(ask(env("COLUMNS")))); });
  tell("grouped", [] { return joined(pairs(ask(env("GROUPED")))); });
  tell("lists", [] { return joined({one(env("IN"), 1, 2), one(env("ARRAY"), "{1,2}")}); });
  tell("types", types);
  tell("refusal", [] {
    string refused = code(env("ROWS"));
    ask(env("GROUPED"));
    return refused;
  });
  tell("cursor", cursor);
  tell("cancel", cancel);
  tell("timeout", timeout);
  tell("encodings", encodings);
}
