//! The producer and the push consumer of the Rust client, with the arguments and the printed lines of the Java ones.

#![recursion_limit = "512"]

use std::sync::Arc;

use rocketmq_client_rust::{
    AclClientRPCHook, ClientResult, ClientRuntime, ClientRuntimeConfig, ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus,
    DefaultMQProducer, DefaultMQPushConsumer, MQPushConsumer, MessageListenerConcurrently, SessionCredentials,
};
use rocketmq_model::common::consumer::consume_from_where::ConsumeFromWhere;
use rocketmq_model::common::message::message_ext::MessageExt;
use rocketmq_model::common::message::message_single::Message;
use rocketmq_observability::TelemetryBootstrapConfig;
use rocketmq_runtime::{RuntimeConfig, RuntimeOwner};
use tokio::signal::unix::{signal, SignalKind};

/// `produce NAMESERVERS TOPIC COUNT` or `consume NAMESERVERS TOPIC GROUP`; name servers are separated by semicolons.
#[tokio::main]
async fn main() -> ClientResult<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, servers, topic, last] = &arguments[..] else { panic!("four arguments") };
    let owner = RuntimeOwner::plan(RuntimeConfig::default()).unwrap().build().unwrap();
    let telemetry = rocketmq_observability::install_global(&TelemetryBootstrapConfig::default()).unwrap();
    let context = owner.root_context().component("client");
    let runtime = ClientRuntime::try_new(context, ClientRuntimeConfig::default(), telemetry.handle())?;
    if mode == "produce" {
        produce(&runtime, servers, topic, last.parse().unwrap()).await?;
    } else {
        consume(&runtime, servers, topic, last).await?;
    }
    runtime.shutdown().await;
    owner.shutdown_tasks().await;
    owner.shutdown_background();
    Ok(())
}

/// What signs; nothing without keys in the environment.
fn hook() -> Option<Arc<AclClientRPCHook>> {
    let key = std::env::var("INTEROP_ACCESS_KEY").ok()?;
    let secret = std::env::var("INTEROP_SECRET_KEY").ok()?;
    Some(Arc::new(AclClientRPCHook::new(SessionCredentials::with_keys(key, secret))))
}

async fn produce(runtime: &Arc<ClientRuntime>, servers: &str, topic: &str, count: usize) -> ClientResult<()> {
    let mut builder = DefaultMQProducer::builder(runtime.clone())
        .producer_group("interop-rust-producer".to_string())
        .name_server_addr(servers.to_string());
    if let Some(hook) = hook() {
        builder = builder.rpc_hook(hook);
    }
    let mut producer = builder.build();
    producer.start().await?;
    println!("READY");
    for n in 0..count {
        let message = Message::builder().topic(topic).body_slice(n.to_string().as_bytes()).build_unchecked();
        match producer.send_with_timeout(message, 10_000).await {
            Ok(_) => println!("SENT {n}"),
            Err(error) => println!("FAILED {n} {error}"),
        }
    }
    println!("DONE");
    producer.shutdown().await;
    Ok(())
}

async fn consume(runtime: &Arc<ClientRuntime>, servers: &str, topic: &str, group: &str) -> ClientResult<()> {
    let mut asked = signal(SignalKind::terminate()).unwrap();
    let mut consumer = DefaultMQPushConsumer::builder(runtime.clone())
        .consumer_group(group.to_string())
        .name_server_addr(servers.to_string())
        .consume_from_where(ConsumeFromWhere::ConsumeFromFirstOffset)
        .rpc_hook(hook().map(|hook| hook as _))
        .build();
    consumer.subscribe(topic, "*").await?;
    consumer.register_message_listener_concurrently(Printer);
    consumer.start().await?;
    println!("READY");
    asked.recv().await;
    consumer.shutdown().await;
    println!("DONE");
    Ok(())
}

struct Printer;

impl MessageListenerConcurrently for Printer {
    fn consume_message(
        &self,
        messages: &[&MessageExt],
        _context: &ConsumeConcurrentlyContext,
    ) -> ClientResult<ConsumeConcurrentlyStatus> {
        for message in messages {
            println!("GOT {}", String::from_utf8_lossy(&message.body().unwrap_or_default()));
        }
        Ok(ConsumeConcurrentlyStatus::ConsumeSuccess)
    }
}
