//! A scripted vendor as a program, for tests of the vendors' own clients in other languages.
//!
//! The first line on standard output is the vendor's URL without a path (OpenAI's clients add
//! `/v1`). The program serves until standard input closes.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use reenact_testkit::server::SentEnd;
use reenact_testkit::{
    AgentTask, Encoding, Script, ScriptedVendor, SentAnswer, TaskReply, TaskTurn, VendorRequest,
};

/// Help text, printed for a command line that makes no sense.
const USAGE: &str = "\
usage: reenact-testkit-vendor SCRIPT [--encoding NAME]... [--tls CA_FILE] [--requests FILE]

SCRIPT      echo, thinking, tool-loop, parallel-tools, travel, empty,
            failing:STATUS, cut-after:EVENTS, failing-after:EVENTS, big:BYTES,
            task:FILE with {aside, turns: [{after?, text} or {after?, call, input}, ...]}
--encoding  gzip, deflate, br or zstd for every answer; several are applied in order
--tls       speak TLS, and write the certificate to trust to this file
--requests  when standard input closes, write what came and went to this file, a JSON object a line:
            {method, path, version, headers: [[name, value], ...], body, sent, end}, where body and sent are
            {\"text\": ...} or {\"hex\": ...}, and end is whole, cut, left or null
";

/// Parsed command line.
struct VendorOptions {
    /// Script to play.
    script: Script,
    /// File for the certificate to trust; `None` for plain HTTP.
    tls: Option<String>,
    /// File for the log of exchanges.
    requests: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = parse_options(&arguments) else {
        let _ = io::stderr().write_all(USAGE.as_bytes());
        return ExitCode::from(2);
    };
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "reenact-testkit-vendor: {error}");
            ExitCode::from(2)
        }
    }
}

/// Parses the command line; `None` if it makes no sense.
fn parse_options(arguments: &[String]) -> Option<VendorOptions> {
    let (script, rest) = arguments.split_first()?;
    let mut options = VendorOptions { script: script_named(script)?, tls: None, requests: None };
    for pair in rest.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--encoding" => {
                let encoding = Encoding::ALL.into_iter().find(|encoding| encoding.name() == value)?;
                options.script = options.script.encoded(encoding);
            }
            "--tls" => options.tls = Some(value.clone()),
            "--requests" => options.requests = Some(value.clone()),
            _ => return None,
        }
    }
    Some(options)
}

/// Returns the script that an argument such as `cut-after:3` names.
fn script_named(text: &str) -> Option<Script> {
    if let Some((name, number)) = text.split_once(':') {
        return match name {
            "failing" => {
                number.parse().ok().filter(|status| (400..600).contains(status)).map(Script::failing)
            }
            "cut-after" => number.parse().ok().map(Script::cut_after),
            "failing-after" => number.parse().ok().map(Script::failing_after),
            "big" => number.parse().ok().map(Script::big),
            "task" => task_in(number).map(Script::task),
            _ => None,
        };
    }
    Some(match text {
        "echo" => Script::echo(),
        "thinking" => Script::thinking(),
        "tool-loop" => Script::tool_loop(),
        "parallel-tools" => Script::parallel_tools(),
        "travel" => Script::travel(),
        "empty" => Script::empty(),
        _ => return None,
    })
}

/// Reads a task from a file of JSON; `None` if it makes no sense.
fn task_in(file: &str) -> Option<AgentTask> {
    let task: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let turn = |turn: &serde_json::Value| {
        let after = turn["after"].as_str().unwrap_or_default().to_owned();
        let reply = match (turn["text"].as_str(), turn["call"].as_str()) {
            (Some(text), None) => TaskReply::Text(text.to_owned()),
            (None, Some(tool)) => {
                TaskReply::Call { tool: tool.to_owned(), input: turn["input"].as_str()?.to_owned() }
            }
            _ => return None,
        };
        Some(TaskTurn { after, reply })
    };
    let turns = task["turns"].as_array()?.iter().map(turn).collect::<Option<_>>()?;
    Some(AgentTask { turns, aside: task["aside"].as_str()?.to_owned() })
}

/// Serves until standard input closes, then writes the log of exchanges.
fn serve(options: VendorOptions) -> io::Result<()> {
    let mut vendor = match &options.tls {
        None => ScriptedVendor::start(options.script)?,
        Some(file) => {
            let vendor = start_tls(options.script)?;
            fs::write(file, vendor.authority_pem().unwrap_or_default())?;
            vendor
        }
    };
    let mut output = io::stdout();
    writeln!(output, "{}", vendor.root_url())?;
    output.flush()?;
    // The content of standard input does not matter, only its end.
    io::copy(&mut io::stdin(), &mut io::sink())?;
    vendor.stop();
    if let Some(file) = options.requests {
        let lines = vendor
            .requests()
            .into_iter()
            .zip(vendor.sent_answers())
            .map(|(request, sent)| exchange_line(&request, &sent));
        fs::write(file, lines.collect::<String>())?;
    }
    Ok(())
}

#[cfg(feature = "tls")]
fn start_tls(script: Script) -> io::Result<ScriptedVendor> {
    ScriptedVendor::start_tls(script)
}

#[cfg(not(feature = "tls"))]
fn start_tls(_: Script) -> io::Result<ScriptedVendor> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "built without the feature `tls`"))
}

/// Returns one exchange as a line of JSON.
fn exchange_line(request: &VendorRequest, sent: &SentAnswer) -> String {
    let headers = request
        .headers
        .iter()
        .map(|(name, value)| [name.clone(), String::from_utf8_lossy(value).into_owned()]);
    let line = serde_json::json!({
        "method": request.method,
        "path": request.path,
        "version": request.version,
        "headers": headers.collect::<Vec<_>>(),
        "body": bytes_json(&request.body),
        "sent": bytes_json(&sent.body),
        "end": sent.end.map(|end| match end {
            SentEnd::Whole => "whole",
            SentEnd::Cut => "cut",
            SentEnd::ClientLeft => "left",
        }),
    });
    format!("{line}\n")
}

/// Returns bytes as `{"text": …}` or, if they are not UTF-8, as `{"hex": …}`.
fn bytes_json(bytes: &[u8]) -> serde_json::Value {
    match str::from_utf8(bytes) {
        Ok(text) => serde_json::json!({ "text": text }),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            serde_json::json!({ "hex": hex })
        }
    }
}
